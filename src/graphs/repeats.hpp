#pragma once

#include <cstddef>
#include <vector>

#include "scalecalc/network.hpp"

namespace scalecalc::graphs {

/// Layers that stand several times behind each other.
struct Run {
  std::size_t first = 0, period = 0, times = 1;
};
/// The longest of the first `end` layers: alike but for stds, which differ by their sampling
/// errors.
Run longest_run(const std::vector<LayerSpec>& layers, std::size_t end);
/// Its layers once, with the root mean square of their stds, N times.
LayerSpec repeated(const std::vector<LayerSpec>& layers, const Run& run);

}  // namespace scalecalc::graphs
