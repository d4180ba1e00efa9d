#pragma once

#include "moments/gradient.hpp"

/// ln D, D = E x^2 - E x_t x_s, what tokens of a draw of finite width differ by
/// (docs/theory/finite-width.md#distance).
namespace scalecalc::moments {

/// Var ln D that n = `width` new features add: differences of tokens are Gaussian too, one less
/// than there are tokens. `noise`: 2 for independent weights.
double apart_noise(double noise, double width, const Counts& counts);
/// Cov(ln D, ln S) where only D fluctuates, by `apart`: E x^2 does by the share that D has of it.
double covariance_with_norm(double apart, const Alike<double>& x);

/// What a layer makes of D = `before` as far as it comes from D: d ln D'/d ln D at the same sizes,
/// from dD'/dD (docs/theory/finite-width.md#distance-slope). 1 of tokens that are one.
double distance_slope(double rise, double before, double after);
/// ln D' moves by `slope` with ln D, and the rest of it with ln S, as ln S' does by `exponent`.
void pass_distance(const NormVariance& spread, double slope, double exponent, NormVariance& out);
/// Masks drawn for each token, of this rate: `noise`: what they add to one token's Var ln x.x; `y`:
/// what comes out.
NormVariance through_dropout(const NormVariance& spread, double rate, double noise,
                             const Alike<double>& y, const Counts& counts);
/// After a norm of each token that takes the share `normed` of a change of its size out: variance
/// of ln D, its covariance with what is left of the size, and its slope.
struct DistanceAfterNorm {
  double variance = 0, covariance = 0, slope = 1;
};
DistanceAfterNorm distance_after_norm(const NormVariance& spread, double normed);
/// Of a branch, what of Var ln D and of Cov(ln D, ln S) is not that of its start.
double own_distance_variance(const NormVariance& start, const NormVariance& branch);
double own_distance_covariance(const NormVariance& start, const NormVariance& branch);

}  // namespace scalecalc::moments
