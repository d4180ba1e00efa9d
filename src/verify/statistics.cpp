#include "verify/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/statistics.hpp"

namespace scalecalc {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
/// Above this sample variance of the logarithm over seeds a mean is carried by rare seeds.
constexpr double large_spread = 0.1;
/// Standard error of a median over that of a mean, for Gaussian samples: sqrt(pi/2).
const double median_factor = std::sqrt(std::acos(-1.0) / 2);

template <class Test>
bool every_sample(const SweepResult& result, Test test) {
  return std::all_of(result.points.begin(), result.points.end(), [&](const SweepPoint& point) {
    return std::all_of(point.samples.begin(), point.samples.end(), test);
  });
}

std::vector<double> logarithms(const std::vector<double>& values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

/// The median's error is taken in the logarithm, where samples of a large spread are near Gaussian.
void summarise_point(SweepPoint& point, bool positive, bool by_median) {
  point.mean = base::sample_mean(point.samples);
  point.median = base::sample_median(point.samples);
  point.value = by_median ? point.median : point.mean;
  point.standard_error = by_median && positive ? point.median * median_factor *
                                                     base::error_of_mean(logarithms(point.samples))
                                               : base::error_of_mean(point.samples);
}

bool has_large_spread(const SweepResult& result) {
  return std::any_of(result.points.begin(), result.points.end(), [](const SweepPoint& point) {
    const double deviation = base::sample_deviation(logarithms(point.samples));
    return deviation * deviation > large_spread;
  });
}

LineFit fit_seed(const SweepResult& result, std::size_t seed) {
  std::vector<double> x, y;
  for (const SweepPoint& point : result.points) {
    x.push_back(std::log(result.size_of(point)));
    y.push_back(std::log(point.samples[seed]));
  }
  return fit_line(x, y);
}

/// One slope a seed: differences between seeds that all sizes share drop out.
void fit_exponent(SweepResult& result) {
  std::vector<double> slopes;
  for (std::size_t seed = 0; seed < result.points.front().samples.size(); ++seed)
    slopes.push_back(fit_seed(result, seed).slope);
  if (slopes.size() == 1) {
    result.exponent = slopes[0];
    if (result.points.size() > 2)
      result.exponent_standard_error = fit_seed(result, 0).slope_standard_error;
    return;
  }
  result.exponent = result.by_median ? base::sample_median(slopes) : base::sample_mean(slopes);
  result.exponent_standard_error =
      base::error_of_mean(slopes) * (result.by_median ? median_factor : 1.0);
}

}  // namespace

void put_scales(const ModelSpec& spec, SweepPoint& point) {
  const ModelSpec stack = spec.encoder_decoder ? encoder_of(spec) : spec;
  if (spec.encoder_decoder) point.decoder_layers = decoder_depth(spec);
  const Bindings at = {{"N", static_cast<double>(stack.layers)}};
  point.alpha = evaluate(*stack.alpha, at);
  point.lambda = evaluate(*stack.lambda, at);
}

void summarise(SweepResult& result) {
  const bool positive =
      every_sample(result, [](double value) { return std::isfinite(value) && value > 0; });
  result.finite = every_sample(result, [](double value) { return std::isfinite(value); });
  result.by_median = positive && has_large_spread(result);
  for (SweepPoint& point : result.points) summarise_point(point, positive, result.by_median);
  result.exponent = result.exponent_standard_error = unknown;
  if (!result.finite)
    result.no_exponent = "a pass gave an infinity or a NaN";
  else if (!positive)
    result.no_exponent = "a value is not positive, so it has no logarithm";
  else if (result.points.size() < 2)
    result.no_exponent =
        fmt::format("an exponent needs two {} at least", result.by_width ? "widths" : "depths");
  else
    fit_exponent(result);
}

}  // namespace scalecalc
