#pragma once

#include <string>

#include "scalecalc/optimizers.hpp"

namespace scalecalc::cli {

/// optimizer_options() of what the option says. Throws Error(input) that names the option.
OptimizerOptions read_optimizer(const std::string& option, const std::string& text);

/// validate(), and that some parameter is to move: a rate of 0 everywhere trains nothing. Throws
/// Error(usage) that names --learning-rate.
void validate_training(const OptimizerOptions& optimizer);

}  // namespace scalecalc::cli
