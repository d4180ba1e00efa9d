#pragma once

#include <cstddef>

namespace scalecalc::gaussian::quadrature {

/// The Gauss-Kronrod pair (15, 31) on [-1, 1], rising, with a node of weight 0 behind it so that
/// whole vectors are filled.
struct Rule {
  static constexpr std::size_t nodes = 31, padded = 32;
  alignas(64) double node[padded] = {};
  alignas(64) double kronrod[padded] = {};
  alignas(64) double gauss[padded] = {};
  alignas(64) double step[padded] = {};  ///< 1 where the next node is a neighbour
};
const Rule& rule();

}  // namespace scalecalc::gaussian::quadrature
