#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scalecalc/optimizers.hpp"
#include "scalecalc/passes.hpp"

/// What the steps of a real optimizer do to every site, measured.
namespace scalecalc {

/// [step][seed]; step 0 is before the first. Averages over features, tokens and sequences.
struct SiteSteps {
  std::string path, kind;  ///< as in SiteSamples
  std::int64_t width = 0, tokens = 0;
  std::vector<std::vector<double>> second;  ///< of x^2
  std::vector<std::vector<double>> change;  ///< of (x - x before the first step)^2
};
/// [step][seed]; nothing was done before the first step.
struct ParameterSteps {
  std::string path;
  std::int64_t rows = 0, columns = 0;
  std::vector<std::vector<double>> update;  ///< average of (d theta)^2, of this step alone
  std::vector<std::vector<double>> second;  ///< average of theta^2 before this step
  /// Largest singular values, squared: of d theta, and of theta before this step. Empty where they
  /// were not asked for.
  std::vector<std::vector<double>> update_norm, norm;
};
struct StepSamples {
  std::vector<SiteSteps> sites;
  std::vector<ParameterSteps> parameters;
  std::vector<std::vector<double>> loss;  ///< [step][seed], on the samples that are stepped on
};
/// Trains `seeds` draws, seed, seed + 1, ..., for `steps` steps, each on the inputs, targets and
/// masks of its draw. `progress` may stop it (Error(fault)). Throws as Passes and Trainer do, and
/// for fewer than one step or seed.
StepSamples sample_steps(const Network& network, const PassOptions& options,
                         const OptimizerOptions& optimizer, int steps, int seeds,
                         bool single_precision = false,
                         const std::function<bool(double done)>& progress = {},
                         bool operator_norms = false);

}  // namespace scalecalc
