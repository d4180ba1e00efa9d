#include "calibration.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "scalecalc/passes.hpp"

namespace scalecalc::random_models {
namespace {

/// Seeds one model may use.
constexpr std::uint64_t seeds_of_a_model = 100000;

Verification verified(const Network& network, int seeds, std::uint64_t seed, double confidence) {
  VerifyOptions options;
  options.seeds = seeds;
  options.seed = seed;
  options.confidence = confidence;
  return verify_network(network, options);
}

/// Whether a pass of these seeds overflows, forward or backward.
bool overflows(const ModelSpec& spec, int seeds, std::uint64_t seed) {
  const auto is_finite = [](const std::vector<double>& samples) {
    return std::all_of(samples.begin(), samples.end(), [](double x) { return std::isfinite(x); });
  };
  try {
    PassOptions options;
    options.seed = seed;
    const PassSamples passes = sample_passes(build_network(spec), options, seeds);
    return !std::all_of(passes.sites.begin(), passes.sites.end(), [&](const SiteSamples& site) {
      return is_finite(site.second) && is_finite(site.grad_second);
    });
  } catch (const Error&) {
    return false;  // no passes, and no overflow
  }
}

}  // namespace

Trial try_model(const ModelSpec& spec, std::uint64_t index, const CalibrationOptions& options) {
  Trial trial;
  trial.index = index;
  trial.spec = spec;
  const std::uint64_t seed = index * seeds_of_a_model;
  try {
    const Network network = build_network(spec);
    trial.first = verified(network, options.seeds, seed, options.confidence);
    if (trial.first.passed || !options.repeats) return trial;
    trial.again_seed = seed + static_cast<std::uint64_t>(options.seeds);
    trial.again =
        verified(network, repeat_factor * options.seeds, trial.again_seed, options.confidence);
  } catch (const Error& error) {
    trial.refused = error.what();
    trial.explodes = overflows(spec, options.seeds, seed);
  }
  return trial;
}

std::vector<Trial> calibrate(const std::vector<ModelSpec>& models, std::uint64_t first,
                             const CalibrationOptions& options) {
  std::vector<Trial> trials(models.size());
  std::atomic<std::size_t> next = 0;
  std::mutex one_at_a_time;
  const auto work = [&] {
    for (std::size_t k = next++; k < models.size(); k = next++) {
      trials[k] = try_model(models[k], first + k, options);
      const std::lock_guard lock(one_at_a_time);
      if (options.done) options.done(trials[k]);
    }
  };
  std::vector<std::jthread> threads;
  for (int k = 1; k < options.threads; ++k) threads.emplace_back(work);
  work();
  threads.clear();
  return trials;
}

bool is_measured(const Comparison& comparison) {
  // Below this share of the value, or of what a sum that is 0 is made of, a difference is rounding.
  constexpr double rounding = 1e-10;
  return comparison.standard_error >
         std::max(rounding * std::abs(comparison.predicted), comparison.rounding);
}

std::vector<double> band_widths(const Verification& verification) {
  std::vector<double> widths;
  for (const auto* comparisons : {&verification.sites, &verification.parameters})
    for (const Comparison& c : *comparisons)
      if (is_measured(c)) widths.push_back(c.band / c.standard_error);
  return widths;
}

std::string fault_of(const Verification& verification) {
  std::string text;
  for (const Cause& cause : verification.causes)
    text += (text.empty() ? "" : ", ") + cause.rule + " " + cause.quantity;
  if (text.empty() && !verification.unmatched.empty()) text = "unmatched";
  return text;
}

int most_failures(int trials, double rate, double confidence) {
  double probability = std::pow(1 - rate, trials);
  double sum = probability;
  int count = 0;
  while (sum < confidence && count < trials) {
    probability *= (trials - count) * rate / ((count + 1) * (1 - rate));
    sum += probability;
    ++count;
  }
  return count;
}

}  // namespace scalecalc::random_models
