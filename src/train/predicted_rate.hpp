#pragma once

#include "scalecalc/network.hpp"
#include "scalecalc/optimizers.hpp"
#include "scalecalc/transfer.hpp"
#include "scalecalc/tuning.hpp"

/// The power of a size that one learning rate for all parameters goes with.
namespace scalecalc::train_room {

/// One rate for all is that of the parameter whose largest stable one falls the most.
TuningPrediction largest_stable_rate(GrowthAxis axis, const TransferSolution& solution);

/// Of the rates that the model's own inits want, from one size to another that is `ratio` times as
/// large. Without an exponent, and with the reason, where the solver has none.
TuningPrediction own_rate(const ModelSpec& small, const ModelSpec& large, GrowthAxis axis,
                          double ratio, const OptimizerOptions& optimizer);

}  // namespace scalecalc::train_room
