#pragma once

#include "activation/zones.hpp"

namespace scalecalc::activation_room {

/// Sets order, centre, scale and coefficients of a zone by interpolation at Chebyshev points; at an
/// end at 0 the leading power of x is divided out first. False where that is not possible.
bool fit(const Expr& expr, Zone& zone);

}  // namespace scalecalc::activation_room
