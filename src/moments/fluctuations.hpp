#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "moments/state.hpp"
#include "scalecalc/non_negative.hpp"

/// How far one draw of the weights of a finite width n may be from the moments of infinite width,
/// and how far these may be off (docs/theory/finite-width.md#log-variance).
namespace scalecalc::moments {

/// Fluctuation of the metric: of the centred overlap x_t.x_u/n of two tokens, over draws
/// (docs/theory/attention.md#overlap). On the stream `noise` is 0 and `coherent` the standard
/// deviation s; inside a branch, `coherent` is its slope K times the s at the branch's start (it
/// moves with the stream), `noise` the variance that the branch added by itself.
template <class N>
struct Overlap {
  N coherent{}, noise{};
  N variance() const { return coherent * coherent + noise; }  ///< V, the variance
};

/// Fluctuation of the kernel: variances, over weight draws, of ln of realised averages of x^2 (of
/// |x|^2/n of tokens). They are the relative variances of these averages where both are small; of a
/// Gaussian draw of n features Var ln(|x|^2/n) = 2/n. The public name of `batch_variance` is
/// spread.
struct NormVariance {
  NonNegative token_variance = 0;  ///< Var ln (1/n) sum_i x_i^2 of one token
  NonNegative batch_variance = 0;  ///< Var ln of the average over features and tokens
  double mean_shift = 0;           ///< E x^2 over that of infinite width, less 1 (order 1/n)
  /// d ln E x^2/d ln E x_0^2, x_0 at the start of the branch: the branch's susceptibility.
  double susceptibility = 1;
  /// `token_variance` less the covariance of x_t.x_t and x_t.x_u, both relative: 0 where norm and
  /// overlap fluctuate as one.
  double decorrelation = 0;
  /// Share of x^2 whose mean over features fluctuates: none after a layernorm.
  double mean_mode = 1;
  /// Var ln D, D = E x^2 - E x_t x_s averaged over a pass's tokens.
  NonNegative distance_variance = 0;
  /// Fluctuation of a feature's variance over samples, over that of a Gaussian feature's: none
  /// after a norm over samples.
  double batch_noise = 1;
  double skewness = 0;                ///< third cumulant over samples, of variance 1
  NonNegative position_variance = 0;  ///< relative variance of E x^2 over positions (borders)
  /// Past the lognormal regime: ln of E x^2, beside infinite width, of a draw range_deviations up.
  double log_range = 0;
  double distance_covariance = 0;  ///< Cov(ln D, ln of what `batch_variance` is of)
  /// d ln E x^2/d ln D_0, D_0 at the start of the branch, at the same E x_0^2: attention's sum of
  /// tokens is the larger the more these are alike.
  double distance_susceptibility = 0;
  NonNegative distance_response = 0;  ///< what that adds to `batch_variance` of a sum
  /// d ln D/d ln D_0 at the same E x_0^2: below 1 where tokens differ by what they did not before.
  double distance_slope = 1;
  /// Of x about its mean over features, which a layernorm takes out: the relative variance of a
  /// token's x.x beyond `token_variance`, and its covariance with that of two tokens beyond what
  /// `decorrelation` leaves.
  double centred_excess = 0, centred_lag = 0;
  /// Of the susceptibility, what the size of one token alone has on that token's: behind attention,
  /// where the sizes of all move one, that of its query and of its own value
  /// (docs/theory/attention.md#own-size).
  double own_ratio = 1;
};

/// Of a mean whose relative variance is past this few draws make all: no lognormal has it, and its
/// variance stands in the place of that of its logarithm (docs/theory/judging.md#rare).
inline constexpr double of_few_draws = 20;
inline double log_variance_of(double relative) {
  return relative < of_few_draws ? std::log1p(relative) : relative;
}

/// Of a product of two powers of one size whose logarithm has this variance, its mean over the
/// product of their means.
inline double product_of_powers(double variance, double left, double right) {
  return std::exp(variance * left * right);
}
/// What orders past the first make of it, relative: a size of large variance is no lognormal's.
inline double beyond_powers(double variance, double left, double right) {
  const double first = std::fabs(variance * left * right);
  return std::expm1(first) - first;
}

/// What follows is by what comes in here.
inline void start_branch(NormVariance& spread) {
  spread.susceptibility = spread.own_ratio = spread.distance_slope = 1;
  spread.distance_susceptibility = 0;
}

/// Bound on the truncation or computation error of a rule, relative to `second` (also for the
/// cross).
struct RelativeError {
  NonNegative second = 0, cross = 0;
  NonNegative mean = 0;  ///< of E x, relative to the root of `second`
  /// Of m - r, where a rule has said so, at these bounds of m and r (docs/theory/layers.md#apart).
  double known_apart = std::numeric_limits<double>::infinity();
  double at_second = 0, at_cross = 0;

  /// Of D = E x^2 - E x_t x_u, relative to E x^2: no more than what both are off by, and than what
  /// was known of it and both have got since.
  double apart() const {
    return std::min(second + cross,
                    known_apart + std::fabs(second - at_second) + std::fabs(cross - at_cross));
  }
  void know_apart(double bound) {
    known_apart = bound;
    at_second = second;
    at_cross = cross;
  }
  void forget_apart() { known_apart = std::numeric_limits<double>::infinity(); }
};
/// Of a sum of independent parts, `share` of its second moment b's.
inline RelativeError mixed_error(const RelativeError& a, const RelativeError& b, double share) {
  return {(1 - share) * a.second + share * b.second, (1 - share) * a.cross + share * b.cross};
}
/// Of a multiple of x beside what is known.
inline void scale_error(RelativeError& error, double factor) {
  const double apart = error.apart() * factor;
  error.second *= factor;
  error.cross *= factor;
  error.know_apart(apart);
}

/// Past this a bound says that nothing is known; it is a number still where what it is of is 0.
inline constexpr double most_error = 1e30;

/// An infinite bound would be NaN in a sum in which its share is 0.
inline void limit(RelativeError& error) {
  error.second = std::min<double>(error.second, most_error);
  error.cross = std::min<double>(error.cross, most_error);
}

/// An E x_t x_u that came out beyond E x^2 is that of no x: what there is may lie anywhere within.
inline void state_impossible(const Alike<double>& x, RelativeError& error) {
  const double cosine = x.second > 0 ? std::fabs(x.cross) / x.second : 0;
  if (cosine > 1) error.cross = std::max<double>(error.cross, 1 + cosine);
}

/// No E x_t x_u is beyond E x^2: its error is at most that of E x^2 besides what lies between.
inline void limit_cross(const Alike<double>& x, RelativeError& error) {
  if (!(x.second > 0)) return;
  error.cross = std::min<double>(error.cross, 1 + error.second + std::fabs(x.cross) / x.second);
}

}  // namespace scalecalc::moments
