#pragma once

#include "scalecalc/verify.hpp"

namespace scalecalc::cli {

/// The sweep of real passes with each value predicted from the moments instead: one sample a
/// depth, without a standard error. Throws Error(usage) for a quantity that has no prediction.
SweepResult predicted_sweep(const SweepOptions& options);

}  // namespace scalecalc::cli
