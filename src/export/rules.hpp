#pragma once

#include <string>
#include <vector>

#include "export/code_plan.hpp"

/// Tensors that start alike, as one rule.
namespace scalecalc::export_room {

/// Tensors of one pattern, one shape and one start.
struct Rule {
  FilledTensor first;
  /// The tensors' indices, unless the rule holds for every tensor of its pattern.
  std::vector<std::vector<std::int64_t>> indices;
  std::size_t tensors = 0;
};
/// In the order of the plan.
std::vector<Rule> rules_of(const CodePlan& plan);

}  // namespace scalecalc::export_room
