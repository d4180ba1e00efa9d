#include "scalecalc/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "scalecalc/error.hpp"

namespace scalecalc {
namespace {

/// Of each part a logistic function of at + slope x, fitted on the first half of the runs of
/// tables/forecast/runs.csv by tools/forecast (docs/theory/forecast.md#constants).
struct Constants {
  double at, slope;
};
constexpr Constants kSignal = {5.16, 0.42};     ///< x: ln of the identity weight
constexpr double kSignalWarmup = 0.12;          ///< and times ln(1 + warm-up)
constexpr Constants kSteps = {3.56, 2.32};      ///< x: ln of the relative movement
constexpr Constants kStepSize = {1.32, -2.12};  ///< x: ln of the relative norm
constexpr double kGrowing = -2.93;              ///< of rules that grow with the gradient

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

/// The factor of exp(x) that brings at + slope x from here to 0.
double factor_to_half(double logit, double slope) {
  return std::exp(-logit / slope);
}

ForecastPart signal(const ForecastSigns& signs, const RunLength& length) {
  const double weight = signs.identity_weight;
  const double at = kSignal.at + kSignalWarmup * std::log1p(static_cast<double>(length.warmup));
  const double half = factor_to_half(at, kSignal.slope);  // of a weight of 1
  const double logit = at + kSignal.slope * std::log(weight);
  ForecastPart part{"signal", logistic(logit), {}, half / weight, {}};
  part.text = fmt::format("{:.2g} of the input's amplitude is left", weight);
  if (signs.without_step.empty())
    part.text +=
        fmt::format(" after {} steps, {:.2g} before", kAlikeSteps, signs.identity_weight_at_start);
  if (part.probability < 0.5) part.change = fmt::format("even at {:.2g} of the amplitude", half);
  return part;
}

ForecastPart steps(const ForecastSigns& signs, const RunLength& length) {
  const double moved = signs.relative_update * length.full_steps;
  const double guesses = signs.loss / signs.guess;
  const double logit = kSteps.at + kSteps.slope * std::log(moved / guesses);
  ForecastPart part{"steps", logistic(logit), {}, factor_to_half(logit, kSteps.slope), {}};
  part.text =
      fmt::format("{:.3g} full steps move weights by {:.2g} of their size; loss {:.3g} guesses",
                  length.full_steps, moved, guesses);
  if (part.probability < 0.5 && moved > 0)
    part.change = fmt::format("even at {:.2g} times the steps, or the learning rate", part.to_half);
  return part;
}

ForecastPart step_size(const ForecastSigns& signs) {
  const double logit = kStepSize.at + kStepSize.slope * std::log(signs.relative_norm) +
                       (signs.grows_with_gradient ? kGrowing : 0);
  ForecastPart part{"step size", logistic(logit), {}, factor_to_half(logit, kStepSize.slope), {}};
  part.text = fmt::format("a step moves a matrix by {:.2g} of its largest singular value",
                          signs.relative_norm);
  if (part.probability < 0.5)
    part.change = fmt::format("even at {:.2g} of the learning rate", part.to_half);
  return part;
}

}  // namespace

const std::vector<ForecastSign>& forecast_sign_list() {
  static const std::vector<ForecastSign> all = {
      {"identity_weight", &ForecastSigns::identity_weight,
       "amplitude of the input that is left after some steps like the first"},
      {"identity_weight_at_start", &ForecastSigns::identity_weight_at_start,
       "the same before them"},
      {"relative_update", &ForecastSigns::relative_update,
       "of a step, rms over matrices of |dtheta|/|theta|"},
      {"relative_norm", &ForecastSigns::relative_norm,
       "the same of |dtheta| over the largest singular value of theta"},
      {"loss", &ForecastSigns::loss, "at the start, nats"},
      {"guess", &ForecastSigns::guess, "ln of the classes"}};
  return all;
}

RunLength run_length(const Schedule& schedule, std::int64_t steps) {
  constexpr std::int64_t most = 1'000'000'000;
  if (steps < 1 || steps > most)
    throw Error(ErrorKind::input, fmt::format("a run has {} steps", steps), "steps",
                fmt::format("use 1 to {}", most));
  RunLength length{steps, std::min(schedule.warmup, steps), 0};
  // Midpoints of at most so many stretches: a schedule is smooth over each.
  constexpr std::int64_t kStretches = 100'000;
  const std::int64_t stretches = std::min(steps, kStretches);
  for (std::int64_t i = 0; i < stretches; ++i) {
    const std::int64_t from = i * steps / stretches, to = (i + 1) * steps / stretches;
    length.full_steps += static_cast<double>(to - from) * schedule.at((from + 1 + to) / 2);
  }
  return length;
}

Forecast forecast(const ForecastSigns& signs, const RunLength& length) {
  Forecast made;
  made.why_none = signs.why_none;
  if (!made.why_none.empty()) return made;
  made.parts = {signal(signs, length), steps(signs, length), step_size(signs)};
  made.probability = 1;
  for (const ForecastPart& part : made.parts) made.probability *= part.probability;
  if (std::isnan(made.probability)) made.probability = 0;
  return made;
}

ForecastScore score(const std::vector<ForecastOutcome>& outcomes) {
  constexpr int kBins = 5;
  ForecastScore made;
  for (int i = 0; i < kBins; ++i)
    made.bins.push_back({static_cast<double>(i) / kBins, static_cast<double>(i + 1) / kBins});
  for (const ForecastOutcome& one : outcomes) {
    const double trained = one.trained ? 1 : 0;
    ++made.runs;
    made.trained += one.trained ? 1 : 0;
    made.brier += (one.probability - trained) * (one.probability - trained);
    const int at = std::clamp(static_cast<int>(one.probability * kBins), 0, kBins - 1);
    ReliabilityBin& bin = made.bins[static_cast<std::size_t>(at)];
    ++bin.runs;
    bin.probability += one.probability;
    bin.trained += trained;
  }
  const double share = static_cast<double>(made.trained) / made.runs;
  made.brier /= made.runs;
  made.base_brier = share * (1 - share);
  for (ReliabilityBin& bin : made.bins) {
    bin.probability /= bin.runs;
    bin.trained /= bin.runs;
    bin.error = std::sqrt(bin.probability * (1 - bin.probability) / bin.runs);
  }
  return made;
}

std::string Forecast::reason() const {
  if (parts.empty()) return "the moments leave the range of the rules: " + why_none;
  const auto least = std::ranges::min_element(parts, {}, &ForecastPart::probability);
  return least->name + ": " + least->text;
}

}  // namespace scalecalc
