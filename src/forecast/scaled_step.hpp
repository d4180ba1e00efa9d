#pragma once

#include "scalecalc/network.hpp"
#include "scalecalc/optimizers.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/trace.hpp"

namespace scalecalc::forecast_room {

/// The first step of an optimizer at its full learning rate, to first order, with the rates of both
/// of a mixture. All but grad_norm is of the step itself, not over eta.
PredictedStep scaled_step(const Network& network, const Trace& trace,
                          const OptimizerOptions& optimizer);

/// Whether a larger gradient makes a larger step, as with sgd; not where the rule divides by it.
bool grows_with_gradient(const OptimizerOptions& optimizer);

}  // namespace scalecalc::forecast_room
