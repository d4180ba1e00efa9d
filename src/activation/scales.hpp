#pragma once

#include <vector>

#include "scalecalc/activation.hpp"

namespace scalecalc::activation_room {

/// For every function of x that changes from one behaviour to another (sigmoid, tanh, exp, ...)
/// and every quadratic denominator: the centre c and c - w, c + w for its width w. Rising.
std::vector<double> scales_of(const std::vector<Expr>& pieces);

}  // namespace scalecalc::activation_room
