#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "steps/own_change.hpp"

/// What the rules of own changes have in common.
namespace scalecalc::steps {

struct Node {
  double at, weight;
};
/// Of a standard normal number: equal steps, whose error falls faster than any power.
template <std::size_t count>
const std::array<Node, count>& normal_nodes() {
  static const auto nodes = [] {
    constexpr double reach = 5;
    std::array<Node, count> made{};
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      made[i].at = reach * (2 * static_cast<double>(i) / (count - 1) - 1);
      made[i].weight = std::exp(-made[i].at * made[i].at / 2);
      total += made[i].weight;
    }
    for (Node& node : made) node.weight /= total;
    return made;
  }();
  return nodes;
}

/// How often each eigenvalue of a kernel is there.
inline Kernel multiplicities(const Samples& samples) {
  return {samples.count() - samples.sequences, samples.sequences - 1, 1};
}
inline double trace_of(const Kernel& kernel, const Samples& samples) {
  const Kernel counted = kernel * multiplicities(samples);
  return counted.token + counted.sequence + counted.all;
}

/// Of Update::Rule::orthogonal.
OwnChange orthogonal_change(const Update& update, const MatrixUse& use);

}  // namespace scalecalc::steps
