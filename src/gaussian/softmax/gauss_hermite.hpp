#pragma once

#include <vector>

namespace scalecalc::gaussian::softmax {

/// Gauss's rule for N(0, 1): E f(z) = sum_i weight_i f(z_i), exact for polynomials of degree up to
/// 2 n - 1 in z.
struct GaussHermite {
  std::vector<double> z;  ///< rising
  std::vector<double> weight;
};

/// Numbers of nodes that rules are made for, each made once.
inline constexpr int kFewestNodes = 12, kMostNodes = 40, kNodeStep = 4;
/// The smallest rule of so many nodes or more; `nodes` up to kMostNodes.
const GaussHermite& gauss_hermite(int nodes);

}  // namespace scalecalc::gaussian::softmax
