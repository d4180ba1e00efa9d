#pragma once

#include <algorithm>

#include "moments/state.hpp"
#include "moments/width_moments.hpp"

/// Finite width (theory, section 2; notes 1.6): how far the realised average of x^2 over n features
/// strays, layer by layer. Plain double; a rule calls it with the averages of its moments.
namespace scalecalc::moments {

/// Of one sequence, and how many sequences.
struct Counts {
  double tokens = 1, batch = 1;
};

/// f at the correlation of every pair of the batch's tokens, a token with itself included,
/// averaged.
template <class F>
double over_pairs(const Alike<double>& x, const Counts& counts, const F& f) {
  const double q = x.second - x.mean * x.mean;
  const auto at = [&](double cross) {
    return f(q > 0 ? std::clamp((cross - x.mean * x.mean) / q, -1.0, 1.0) : 0.0);
  };
  double sum = f(1.0);
  if (counts.tokens > 1) sum += (counts.tokens - 1) * at(x.cross);
  if (counts.batch > 1) sum += (counts.batch - 1) * counts.tokens * at(x.between);
  return sum / (counts.tokens * counts.batch);
}
/// Of independent Gaussian features: the share of 2/n that averaging over tokens leaves.
inline double pairs_squared(const Alike<double>& x, const Counts& counts) {
  return over_pairs(x, counts, [](double c) { return c * c; });
}

/// Independent Gaussian features.
Spread gaussian_spread(const Alike<double>& x, double width, const Counts& counts);
/// y: the output's moments; `share`: the part of its second that comes from the input; `noise`: 2
/// for independent weights, 0 for square orthogonal ones.
Spread through_linear(const Spread& spread, double share, double noise, const Alike<double>& y,
                      double width, const Counts& counts);
Spread through_activation(const Spread& spread, const WidthMoments& phi, const Alike<double>& x,
                          double width, const Counts& counts);
/// Variance of ln D after a norm of each token.
double apart_after_norm(const Spread& spread, const Alike<double>& x);
/// phi(u) w, both linear in the same input; `x`: the moments of u.
Spread through_gate(const Spread& spread, const WidthMoments& phi, const Alike<double>& x,
                    double width, const Counts& counts);
/// x and f as they enter the sum; their scalar product strays too.
Spread through_sum(const Spread& spread, const Spread& branch, const Alike<double>& x,
                   const Alike<double>& f, double width, const Counts& counts);
struct SlopeMoments {
  double exponent = 0, kurtosis = 1;  ///< slope_exponent, slope_kurtosis of WidthMoments
};
/// phi'(u) g: u strays by `forward`.
Spread back_through_activation(const Spread& gradient, const Spread& forward,
                               const SlopeMoments& phi, const Alike<double>& g, double width,
                               const Counts& counts);

}  // namespace scalecalc::moments
