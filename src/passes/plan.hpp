#pragma once

#include <vector>

#include "passes/check.hpp"

namespace scalecalc::passes {

/// A checked network and what follows from it before anything is drawn; models with different
/// seeds share one.
struct Plan {
  /// Throws Error(input) for a network that cannot be run.
  explicit Plan(Network from)
      : network(std::move(from)),
        checked(check(network)),
        parameters(scalecalc::parameters(network)) {}

  /// Rows of the logits.
  std::int64_t outputs() const { return network.batch * checked.output_tokens; }

  Network network;
  Checked checked;
  std::vector<ParameterInfo> parameters;
};

}  // namespace scalecalc::passes
