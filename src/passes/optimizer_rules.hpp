#pragma once

#include <string_view>

#include "scalecalc/optimizers.hpp"

namespace scalecalc::passes {

enum class OptimizerRule {
  sgd,
  momentum,
  nesterov,
  adam,
  adamw,
  lion,
  lamb,
  lars,
  adafactor,
  muon,
  ngd,
  rmsprop,
  adagrad
};

/// Throws Error(input) with the nearest names.
OptimizerRule optimizer_rule(std::string_view name);
/// Throws Error(input) for a value out of its range.
void validate(const Schedule& schedule);
/// Whether the norm over all parameters must be known before the first is updated.
bool needs_global_norm(const OptimizerOptions& options);

}  // namespace scalecalc::passes
