#pragma once

#include <functional>

#include "moments/width_moments.hpp"

/// How the size of a signal, which fluctuates over weight draws, passes an activation of n
/// features.
namespace scalecalc::moments {

/// x = ln of the realised E u^2 over its infinite-width value, Gaussian over draws.
struct LogSize {
  double mean = 0, variance = 0;
};

/// y = ln of the realised average of phi^2(u), b = that of phi'^2(u) g^2 for Gaussian g, both
/// beside infinite width and averaged over the distribution of x: a map that saturates, or bends
/// away from a point where its slope is past 1, bounds the spread it passes on. Each is slope x +
/// what the slope leaves of the map + noise of n features.
struct Passage {
  double slope = 0, back_slope = 0;  ///< d/dx, the best line through the map
  double mean = 0, back_mean = 0;    ///< E y, E b
  /// Variances, and covariance, of what the lines leave: the same x for both.
  double rest = 0, back_rest = 0, both_rest = 0;
  /// Of n features: var y, var b (beyond the 2/n of g) and cov(y, b) at given x.
  double noise = 0, back_noise = 0, both_noise = 0;
};

using SizesAt = std::function<SizeMoments(double scale)>;  ///< at scale times E u^2
/// `phi`: at infinite width's E u^2, where `x` is 0.
Passage passage(const SizesAt& sizes, const WidthMoments& phi, const LogSize& x, double width);

/// Noise of n independent terms of cumulants k2, k3: the variance of the logarithm of their mean,
/// in two orders (docs/theory/finite-width.md#log-variance).
inline double log_variance(double k2, double k3, double n) {
  return k2 / n + (2.5 * k2 * k2 - k3) / (n * n);
}
/// Of the mean of phi^2 over n features at given sizes of u; past where the second order is no
/// small correction that of a lognormal.
double forward_noise(const SizeMoments& at, double n);

}  // namespace scalecalc::moments
