#pragma once

#include <string>

#include "scalecalc/optimizers.hpp"

namespace scalecalc::cli {

/// optimizer_options() of what the option says. Throws Error(input) that names the option.
OptimizerOptions read_optimizer(const std::string& option, const std::string& text);

}  // namespace scalecalc::cli
