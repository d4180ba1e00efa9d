#pragma once

#include "scalecalc/optimizers.hpp"
#include "scalecalc/trace.hpp"
#include "steps/own_change.hpp"

namespace scalecalc::steps {

/// The first step of these options (scalecalc/optimizers.hpp) on one parameter, whose averages
/// start at 0. `global_norm` is that of all gradients.
Update first_update(const OptimizerOptions& options, const ParameterInfo& parameter,
                    const ParameterMoments& moments, double global_norm);

/// What steps are that follow the same gradient, by the first one's without its schedule.
struct RepeatedSteps {
  double sum = 1;   ///< of all of them
  double last = 1;  ///< of the last alone
};
/// `count` >= 1 (docs/theory/first-step.md#later-steps).
RepeatedSteps repeated_steps(const OptimizerOptions& options, const ParameterInfo& parameter,
                             int count);

}  // namespace scalecalc::steps
