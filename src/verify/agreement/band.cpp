#include "verify/agreement/band.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "base/statistics.hpp"

namespace scalecalc {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();
/// Above this variance of the logarithm a mean over seeds is carried by rare ones.
constexpr double large_spread = 0.1;

template <class Test>
bool all(const std::vector<double>& samples, Test test) {
  return std::all_of(samples.begin(), samples.end(), test);
}

bool is_finite(double value) {
  return std::isfinite(value);
}

std::vector<double> logarithms(const std::vector<double>& samples) {
  std::vector<double> values(samples.size());
  std::transform(samples.begin(), samples.end(), values.begin(),
                 [](double sample) { return std::log(sample); });
  return values;
}

double log_variance(const std::vector<double>& samples) {
  const double deviation = base::sample_deviation(logarithms(samples));
  return deviation * deviation;
}

Comparison named(const Case& one) {
  Comparison comparison;
  comparison.path = one.path;
  comparison.kind = one.kind;
  comparison.quantity = one.quantity;
  comparison.rounding = one.expected.rounding;
  return comparison;
}

/// What rounding alone can make positive has no logarithm that means something.
bool has_logarithms(const Case& one) {
  const double least = one.expected.rounding;
  return one.expected.mean > least &&
         all(*one.samples, [least](double sample) { return sample > least; }) &&
         all(*one.samples, is_finite);
}

/// Second moments are skewed to the right: a mean that is too low comes with a scatter that is too
/// small, more often than Student's t allows for. A predicted spread makes up for it.
bool has_unknown_skew(const Case& one) {
  return one.expected.is_square && one.expected.log_variance == 0 && has_logarithms(one);
}

/// Deviations in units of sigma; none where everything agrees exactly.
double deviations(double difference, double sigma) {
  if (difference == 0) return 0;
  return sigma > 0 ? difference / sigma : std::copysign(infinite, difference);
}

/// Standard deviation of the part of the mean that rare events make.
double rare_deviation(const Expected& expected) {
  return expected.rare_events > 0 ? std::fabs(expected.rare) / std::sqrt(expected.rare_events) : 0;
}

/// What a Poisson number of events may add, or take away, at this tail.
double rare_width(const Expected& expected, double tail, bool measured_is_larger) {
  if (!(expected.rare_events > 0) || expected.rare == 0) return 0;
  const boost::math::poisson events(expected.rare_events);
  const bool more = measured_is_larger == (expected.rare > 0);
  const double number = more ? quantile(complement(events, tail)) : quantile(events, tail);
  return std::fabs(expected.rare * (number / expected.rare_events - 1));
}

/// Of a value whose logarithm has this variance.
double relative_variance(double log_variance) {
  return log_variance < of_rare_events ? std::expm1(log_variance) : log_variance;
}

double seeds_of(const Case& one) {
  return static_cast<double>(one.samples->size());
}

/// Logarithms of lognormal samples beside that of their predicted typical value.
struct LogBand {
  double shift = 0;         ///< of the predicted logarithm
  double sigma = 0;         ///< standard deviation of what is compared
  double down = 0, up = 0;  ///< what measured may be below and above predicted
};

/// A typical value is known no better than the spread. Predicted, it is off by half of what the
/// predicted variance is beside the measured s^2. Not predicted, it is mean x exp(-s^2/2), whose
/// logarithm has the variance s^2/n + s^4/(2(n - 1)), and the true variance lies within the
/// quantiles of s^2.
LogBand log_band(const Case& one, double variance, const Quantiles& quantiles) {
  const double predicted = one.expected.log_variance, n = seeds_of(one);
  LogBand band;
  if (predicted > 0) {
    band.sigma = std::sqrt((variance + predicted) / n);
    band.up = band.down = quantiles.deviations * band.sigma + std::abs(variance - predicted) / 2;
    return band;
  }
  band.shift = -variance / 2;
  band.sigma = std::sqrt(variance / n + variance * variance / (2 * (n - 1)));
  const double allowed = quantiles.deviations * std::sqrt(variance / n);
  band.up = allowed + variance * (1 - quantiles.least_variance) / 2;
  band.down = allowed + variance * (quantiles.most_variance - 1) / 2;
  return band;
}

/// As a distance from `predicted`, on the side where `measured` is.
double distance(const LogBand& band, double predicted, double measured, double doubt) {
  return predicted * (measured >= predicted ? std::expm1(band.up) * (1 + doubt) + doubt
                                            : 1 - std::exp(-band.down) * std::max(0.0, 1 - doubt));
}

/// Values are taken in units of the largest, whose square could overflow.
Comparison judge_linear(const Case& one, const Quantiles& quantiles) {
  const Expected& expected = one.expected;
  Comparison comparison = named(one);
  double unit = std::abs(expected.mean);
  for (const double sample : *one.samples) unit = std::max(unit, std::abs(sample));
  if (unit == 0) unit = 1;
  std::vector<double> scaled = *one.samples;
  for (double& value : scaled) value /= unit;
  const double predicted = expected.mean / unit, measured = base::sample_mean(scaled);
  const double root = std::sqrt(seeds_of(one));
  const double standard_error = base::sample_deviation(scaled) / root;
  const double spread =
      std::sqrt(relative_variance(expected.log_variance)) * std::abs(predicted) / root;
  // Rare events that happened are in the scatter; those that did not are not.
  const double rare = rare_deviation(expected) / unit;
  const double sigma = std::hypot(std::max(standard_error, rare), spread, expected.rounding / unit);
  const double skew = rare_width(expected, quantiles.tail, measured >= predicted) / unit -
                      quantiles.deviations * rare;
  double band = quantiles.deviations * sigma + std::max(0.0, skew) + expected.error / unit;
  if (has_unknown_skew(one)) {
    const LogBand skewed = log_band(one, log_variance(*one.samples), quantiles);
    band = std::max(band, distance(skewed, predicted, measured, expected.error / expected.mean));
  }
  comparison.predicted = expected.mean;
  comparison.measured = measured * unit;
  comparison.standard_error = standard_error * unit;
  comparison.z = deviations(measured - predicted, sigma);
  comparison.band = band * unit;
  comparison.ok = std::abs(measured - predicted) <= band;
  return comparison;
}

Comparison judge_logarithms(const Case& one, const Quantiles& quantiles) {
  const Expected& expected = one.expected;
  Comparison comparison = named(one);
  comparison.in_log_space = true;
  const double variance = log_variance(*one.samples);
  const LogBand band = log_band(one, variance, quantiles);
  comparison.predicted = expected.typical * std::exp(band.shift);
  comparison.measured = std::exp(base::sample_mean(logarithms(*one.samples)));
  comparison.standard_error = comparison.measured * std::sqrt(variance / seeds_of(one));
  comparison.z = deviations(std::log(comparison.measured / comparison.predicted), band.sigma);
  const double rare =
      rare_width(expected, quantiles.tail, comparison.measured >= comparison.predicted);
  const double doubt =
      (expected.error + quantiles.deviations * expected.rounding + rare) / expected.mean;
  comparison.band = distance(band, comparison.predicted, comparison.measured, doubt);
  comparison.ok = std::abs(comparison.measured - comparison.predicted) <= comparison.band;
  return comparison;
}

Comparison not_finite(const Case& one) {
  Comparison comparison = named(one);
  comparison.predicted = one.expected.mean;
  comparison.measured = base::sample_mean(*one.samples);
  comparison.standard_error = comparison.band = comparison.z = unknown;
  return comparison;
}

}  // namespace

Quantiles simultaneous_quantiles(std::size_t comparisons, int seeds, double confidence) {
  using namespace boost::math;
  const double tail =
      (1 - confidence) / (2 * static_cast<double>(std::max<std::size_t>(comparisons, 1)));
  const double freedom = seeds - 1;
  const chi_squared squares(freedom);
  return {quantile(complement(students_t(freedom), tail)),
          freedom / quantile(complement(squares, tail)), freedom / quantile(squares, tail), tail};
}

bool wants_logarithms(const Case& one, bool scale_is_logarithmic) {
  if (!has_logarithms(one) || one.expected.log_variance >= of_rare_events) return false;
  if (!one.expected.is_square) return scale_is_logarithmic;
  return one.expected.log_variance > large_spread || log_variance(*one.samples) > large_spread;
}

Comparison judge(const Case& one, bool in_log_space, const Quantiles& quantiles) {
  if (!all(*one.samples, is_finite) || !is_finite(one.expected.mean)) return not_finite(one);
  return in_log_space ? judge_logarithms(one, quantiles) : judge_linear(one, quantiles);
}

}  // namespace scalecalc
