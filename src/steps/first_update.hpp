#pragma once

#include "scalecalc/optimizers.hpp"
#include "scalecalc/trace.hpp"
#include "steps/own_change.hpp"

namespace scalecalc::steps {

/// The first step of these options (scalecalc/optimizers.hpp) on one parameter, whose averages
/// start at 0. `global_norm` is that of all gradients.
Update first_update(const OptimizerOptions& options, const ParameterInfo& parameter,
                    const ParameterMoments& moments, double global_norm);

}  // namespace scalecalc::steps
