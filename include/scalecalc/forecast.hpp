#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "scalecalc/moments.hpp"
#include "scalecalc/network.hpp"
#include "scalecalc/optimizers.hpp"

/// Whether a run trains, as a probability, from what is known before its first step
/// (docs/theory/forecast.md).
namespace scalecalc {

/// Numbers of a model and an optimizer that the end of a run depends on; NaN: not known.
struct ForecastSigns {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  /// Amplitude of the input that reaches the end of the stream once kAlikeSteps steps have gone the
  /// way of the first, 0..1; 1 without residual sums.
  double identity_weight = kUnknown;
  double identity_weight_at_start = kUnknown;  ///< the same before any step
  /// Root mean square, over the matrices that do not start at 0, of |dtheta|/|theta| by one step at
  /// the full learning rate.
  double relative_update = kUnknown;
  /// The same of |dtheta| over the largest singular value of a drawn theta: how far a step of rank
  /// one moves what the matrix puts out.
  double relative_norm = kUnknown;
  double loss = kUnknown;            ///< at the start, nats a target
  double guess = kUnknown;           ///< ln of the classes: the loss of a uniform guess
  bool grows_with_gradient = false;  ///< the step does, as that of sgd; not that of a sign
  /// Why identity_weight is that of the start; empty: the first step is in it.
  std::string without_step;
  std::string why_none;  ///< why nothing is known: the moments leave the range of the rules
};
/// One of its numbers, as logs and JSON name it.
struct ForecastSign {
  const char* name;
  double ForecastSigns::*number;
  const char* meaning;
};
const std::vector<ForecastSign>& forecast_sign_list();
/// Steps that are taken to go the way of the first.
inline constexpr int kAlikeSteps = 4;

/// At the full learning rate, without dropout. Of branches whose trained factors start at 0, or
/// small (ReZero, SkipInit, LayerScale), with the factors that kAlikeSteps steps give them. Throws
/// Error(input) for a network without a cross-entropy, or without weight matrices, and for an
/// optimizer that validate() refuses; other layers than the rules have give a `why_none`.
ForecastSigns forecast_signs(const Network& network, const OptimizerOptions& optimizer,
                             const PropagateOptions& options = {});

/// How long a run is.
struct RunLength {
  std::int64_t steps = 0;   ///< 1..1e9
  std::int64_t warmup = 0;  ///< of them, over which the learning rate grows from 0; 0..1e9
  double full_steps = 0;    ///< sum over the steps of the schedule's factor
};
/// Of the schedule of an optimizer. Throws as Schedule::at() does, and for steps out of range.
RunLength run_length(const Schedule& schedule, std::int64_t steps);

/// One way to fail.
struct ForecastPart {
  std::string name;        ///< "signal", "steps", "step size"
  double probability = 1;  ///< that the run does not fail by it
  std::string text;        ///< what decides, in numbers
  /// The factor of what decides (the identity weight; the steps or the learning rate; the learning
  /// rate) that brings the probability to a half.
  double to_half = 1;
  std::string change;  ///< the same in words where the probability is less; else empty
};
struct Forecast {
  /// That the run trains: that its validation loss ends a twentieth below the entropy of single
  /// words. The product of the parts; 0 where the moments leave the range of the rules.
  double probability = 0;
  std::vector<ForecastPart> parts;  ///< none with why_none
  std::string why_none;

  bool trains() const { return probability >= 0.5; }
  /// Of the part that is least.
  std::string reason() const;
};
/// A product of three logistic functions with eight constants, fitted on one half of a grid of runs
/// and held to the other (tables/forecast.md).
Forecast forecast(const ForecastSigns& signs, const RunLength& length);

/// A forecast, and what came.
struct ForecastOutcome {
  double probability = 0;
  bool trained = false;
};
/// Forecasts of like probability.
struct ReliabilityBin {
  double from = 0, to = 1;
  int runs = 0;
  double probability = 0;  ///< mean of them; NaN of no run
  double trained = 0;      ///< share of runs that did; NaN likewise
  double error = 0;        ///< of that share, sqrt(p (1 - p)/runs) at the mean probability
};
struct ForecastScore {
  int runs = 0, trained = 0;
  /// Mean of (probability - trained)^2 (Brier 1950); NaN of no run. 0 is perfect.
  double brier = 0;
  /// That of the one probability that fits these outcomes best, their share that trained.
  double base_brier = 0;
  std::vector<ReliabilityBin> bins;  ///< five of equal width
};
ForecastScore score(const std::vector<ForecastOutcome>& outcomes);

}  // namespace scalecalc
