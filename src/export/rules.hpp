#pragma once

#include <string>
#include <vector>

#include "scalecalc/export.hpp"

/// Tensors that start alike, as one rule.
namespace scalecalc::export_room {

/// One part of a tensor along its axis.
struct Fill {
  std::int64_t length = 0;  ///< entries along the axis
  Start start = Start::zeros;
  double mean = 0, std = 0, bound = 0, untruncated_std = 0;
  std::string formula;
  bool operator==(const Fill&) const = default;
};

/// Tensors of one pattern, one shape and one start.
struct Rule {
  std::string pattern;
  std::vector<std::int64_t> shape;
  int axis = 0;
  bool may_be_absent = false;  ///< tied to another, or unknown to other frameworks
  std::vector<Fill> fills;
  /// The tensors' indices, unless the rule holds for every tensor of its pattern.
  std::vector<std::vector<std::int64_t>> indices;
  std::size_t tensors = 0;
};
/// In the order of the forward pass.
std::vector<Rule> rules_of(const NamedPlan& plan);

/// "transformer, 12 layers, width 768, pre, 148 parameters" without a user's words.
std::string summary_of(const NamedPlan& plan);

}  // namespace scalecalc::export_room
