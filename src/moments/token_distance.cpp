#include "moments/token_distance.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {

/// Differences of tokens are Gaussian too, one less than there are tokens.
double apart_noise(double noise, double width, const Counts& counts) {
  const double samples = counts.samples();
  return samples > 1 ? noise / (width * (samples - 1)) : 0;
}

/// Where only the differences of tokens fluctuate, E x^2 does by their share of it.
double covariance_with_norm(double apart, const Alike<double>& x) {
  return x.second > 0 ? std::clamp(1 - x.cross / x.second, 0.0, 1.0) * apart : 0;
}

/// ln D - w ln s2.
DistanceAfterNorm distance_after_norm(const NormVariance& spread, double normed) {
  const double covariance = spread.distance_covariance,
               all = spread.batch_variance + spread.distance_response;
  return {std::max(0.0, spread.distance_variance + normed * normed * all - 2 * normed * covariance),
          (1 - normed) * (covariance - normed * all),
          spread.distance_slope - normed * spread.distance_susceptibility};
}

double distance_slope(double rise, double before, double after) {
  const double slope = rise * before / after;
  return after > 0 && std::isfinite(slope) ? std::clamp(slope, 0.0, 1.0) : 1;
}

void pass_distance(const NormVariance& spread, double slope, double exponent, NormVariance& out) {
  const double rest = exponent * (1 - slope);
  out.distance_variance = std::max(0.0, slope * slope * spread.distance_variance +
                                            2 * slope * rest * spread.distance_covariance +
                                            rest * rest * spread.batch_variance);
  out.distance_covariance =
      exponent * (slope * spread.distance_covariance + rest * spread.batch_variance);
  out.distance_susceptibility = exponent * spread.distance_susceptibility;
  out.distance_slope = slope * spread.distance_slope + rest * spread.distance_susceptibility;
}

/// A mask moves x_t^2, and x_t times the mean of the others as much for two: of Gaussian features
/// with r = c m, E (x_t^2 - 2 x_t x)^2 = m^2 (3 c^2 + 3 (1 - c)^2 - 2 c (1 - c)) beside E x_t^4 = 3
/// m^2.
NormVariance through_dropout(const NormVariance& spread, double rate, double noise,
                             const Alike<double>& y, const Counts& counts) {
  NormVariance out = spread;
  const double of_all = noise / counts.samples(), apart = y.second - y.cross;
  out.token_variance += noise;
  out.batch_variance += of_all;
  if (!(apart > 0)) return out;
  pass_distance(spread, distance_slope(1, apart - rate * y.second, apart), 1, out);
  const double more = y.second / apart, c = y.cross / ((1 - rate) * y.second);
  out.distance_variance += more * more * of_all * (c * c + (1 - c) * (1 - c) - 2 * c * (1 - c) / 3);
  out.distance_covariance += more * of_all * (1 - 2 * c);
  return out;
}

double own_distance_variance(const NormVariance& start, const NormVariance& branch) {
  const double slope = branch.distance_slope;
  return std::max(0.0, branch.distance_variance - slope * slope * start.distance_variance);
}
double own_distance_covariance(const NormVariance& start, const NormVariance& branch) {
  return branch.distance_covariance -
         branch.distance_slope * (branch.susceptibility * start.distance_covariance +
                                  branch.distance_susceptibility * start.distance_variance);
}

}  // namespace scalecalc::moments
