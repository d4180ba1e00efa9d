#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/verify.hpp"

/// verify's promise held to many models: at confidence p right predictions pass p of all runs.
namespace scalecalc::random_models {

constexpr int repeat_factor = 8;

struct Trial {
  std::uint64_t index = 0;
  ModelSpec spec;
  std::string refused;  ///< why there is no prediction; empty: there is one
  /// Of a refused model: its passes are no finite numbers either, so that nothing is to be
  /// predicted.
  bool explodes = false;
  Verification first;
  /// Of a model that failed: repeat_factor times as many seeds, none of them used before.
  std::optional<Verification> again;
  std::uint64_t again_seed = 0;  ///< the first of them
  bool is_refused() const { return !refused.empty() && !explodes; }
  bool failed() const { return refused.empty() && !first.passed; }
  /// Fails where the standard error is smaller too, so that a rule is off.
  bool is_systematic() const { return again && !again->passed; }
};

struct CalibrationOptions {
  int seeds = 24;
  double confidence = 0.99;
  int threads = 2;                              ///< models side by side, on one thread each
  bool repeats = true;                          ///< whether a model that failed is tried again
  std::function<void(const Trial&)> done = {};  ///< one call at a time, in any order
};

/// The seeds are those of the index: a model of another index has others.
Trial try_model(const ModelSpec& spec, std::uint64_t index, const CalibrationOptions& options);

/// Every model in its own trial, in order.
std::vector<Trial> calibrate(const std::vector<ModelSpec>& models, std::uint64_t first,
                             const CalibrationOptions& options);

/// Whether it scatters by more than rounding: where every draw gives the same (the second moment
/// behind a norm), band and scatter are rounding both.
bool is_measured(const Comparison& comparison);
/// Bands of what is measured, in standard errors.
std::vector<double> band_widths(const Verification& verification);

/// What a failure points at, by rule and quantity: "norm cross, attention grad_second"; empty when
/// all is well.
std::string fault_of(const Verification& verification);

/// The smallest k that a binomial count of `trials`, each with probability `rate`, does not exceed
/// with probability `confidence`.
int most_failures(int trials, double rate, double confidence);

}  // namespace scalecalc::random_models
