#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "graphs/condition.hpp"
#include "graphs/parts.hpp"
#include "graphs/program.hpp"

namespace scalecalc::graphs {

/// A layer, with the layers inside it: what a graph is once every sum is a residual.
struct Item {
  enum class Kind { part, attention, gated, residual, concat };
  Kind kind = Kind::part;
  std::size_t part = nothing;  ///< the part that it ends with
  /// Of attention: projections, a norm of each head's queries and keys, one of what is mixed.
  std::size_t attention = nothing, q = nothing, k = nothing, v = nothing, o = nothing;
  std::size_t q_norm = nothing, k_norm = nothing, mix_norm = nothing;
  bool is_cross = false;  ///< keys and values are of the memory
  /// Of a gate: f(gate x) in x.
  std::size_t gate = nothing, in = nothing;
  Function function;
  bool is_behind = false;  ///< of a concat, whose layers are its body: the stream stands second
  /// Of a residual: skip * shortcut(x) + branch * body(x), times a parameter.
  std::vector<Item> body, shortcut;
  double skip = 1, branch = 1;
  std::size_t scale = nothing;  ///< a part of that kind
};

/// The layers from the input to the output, one behind the other, and those that make the memory
/// which some attention of them reads, and what modulates them. Throws Error(input) where the graph
/// is no such tree, naming the operation and its line.
struct Stacks {
  std::vector<Item> items, memory;
  std::optional<GraphCondition> condition;
};
Stacks stacks_of(const Program& program, const PartGraph& graph);

/// Every part that an item and those inside it hold.
void for_each_part(const std::vector<Item>& items, const std::function<void(std::size_t)>& use);

}  // namespace scalecalc::graphs
