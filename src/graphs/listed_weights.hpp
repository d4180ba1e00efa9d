#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "graphs/describe.hpp"

/// What a layer of a list says of its weights, as the file has them.
namespace scalecalc::graphs {

/// Whether there are biases, and their std.
void set_biases(const Understood& known, const std::vector<std::size_t>& parts, LayerSpec& spec);
/// Std and distribution of one map, and its biases.
void set_weights(const Understood& known, const Part& part, LayerSpec& spec);
/// One std for all of these maps, or one each.
void share_stds(const Understood& known, LayerSpec& spec,
                const std::vector<std::pair<std::size_t, std::optional<double>*>>& of);

}  // namespace scalecalc::graphs
