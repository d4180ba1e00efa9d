#pragma once

#include <optional>
#include <vector>

#include "graphs/parts.hpp"
#include "graphs/program.hpp"

namespace scalecalc::graphs {

/// What modulations are maps of: silu(c), c = silu(e W_in) W_out + labels.
struct GraphCondition {
  std::size_t root = nothing;  ///< e: waves of a time, or an input of each sample
  std::size_t in = nothing, out = nothing;
  std::size_t labels = nothing;  ///< an embedding; nothing: there are none
};

/// None where nothing is modulated. Throws Error(input) where what modulates is none of that, at
/// its line.
std::optional<GraphCondition> condition_of(const Program& program, const PartGraph& graph);

}  // namespace scalecalc::graphs
