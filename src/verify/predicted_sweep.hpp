#pragma once

#include "scalecalc/verify.hpp"

namespace scalecalc {

/// sweep() under engine quadrature, of options that have been checked.
SweepResult predicted_sweep(const SweepOptions& options);

}  // namespace scalecalc
