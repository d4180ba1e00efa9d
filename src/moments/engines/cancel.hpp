#pragma once

#include "scalecalc/symbolic.hpp"

namespace scalecalc::moments {

/// a X/S + b X/S with S = a + b is X: sums over one denominator whose numerators add up to a
/// multiple of it. Everywhere in the expression; the value stays the same.
Expr cancelled(const Expr& expr);

}  // namespace scalecalc::moments
