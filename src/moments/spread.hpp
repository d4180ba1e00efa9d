#pragma once

#include <algorithm>

#include "moments/passage.hpp"
#include "moments/state.hpp"

/// Finite width (docs/theory/finite-width.md#log-variance): how far the realised average of x^2
/// over n features strays, layer by layer. Plain double; a rule calls it with the averages of its
/// moments.
namespace scalecalc::moments {

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
  return sum / counts.samples();
}
/// Of independent Gaussian features: the share of 2/n that averaging over tokens leaves.
inline double pairs_squared(const Alike<double>& x, const Counts& counts) {
  return over_pairs(x, counts, [](double c) { return c * c; });
}

/// Of a mean over draws beside infinite width: past it the mean says nothing of any draw, and must
/// not overflow.
inline constexpr double largest_log = 300;

/// The covariance of two tokens' logarithms, from the variance of one's and of their average's.
double between_tokens(double one, double all, const Counts& counts);
/// Independent Gaussian features.
Spread gaussian_spread(const Alike<double>& x, double width, const Counts& counts);
/// y: the output's moments; `share`: the part of its second that comes from the input; `noise`: 2
/// for independent weights, 0 for square orthogonal ones.
Spread through_linear(const Spread& spread, double share, double noise, const Alike<double>& y,
                      double width, const Counts& counts);
/// Tokens y = sum_s p_s x_s after attention, of averages `y` up to a factor.
struct Mixed {
  Alike<double> y;
  double shared = 0;  ///< of E y^2, the part that all tokens have in common
  double p2 = 1;      ///< E sum_s p_s^2
};
/// Before W_v. Sums of Gaussian tokens are Gaussian: 2/n again, shared by as much as the new tokens
/// correlate; what tokens stray beyond that, the sum does, by the average over tokens in its shared
/// part. Tokens of one length (`free`, the share of 2/n that theirs strays, is 0) make sums whose
/// length strays by x_s.x_s' alone: at a cosine c, (1 - c)^2 2/n in the shared part, nothing where
/// p picks one token.
Spread through_mix(const Spread& spread, const Alike<double>& x, const Mixed& mix, double width,
                   const Counts& counts);
/// ln of the size of u = xW: without the 2/n that its n Gaussian features add to what is measured.
/// Below 0 for orthogonal weights, which bring less.
LogSize log_size(const Spread& spread, double width);
Spread through_activation(const Spread& spread, const Passage& passage, const WidthMoments& phi,
                          const Alike<double>& x, double width, const Counts& counts);
/// After a norm of each token that takes the share `normed` of a change of its size out: variance
/// of ln D, and its covariance with what is left of the size.
struct ApartAfterNorm {
  double variance = 0, tie = 0;
};
ApartAfterNorm apart_after_norm(const Spread& spread, double normed);
/// Past a variance of 1 with a slope past 1, draws part ways: some die and some grow, which one
/// Gaussian in the logarithm does not describe.
bool part_ways(double variance, double slope);
/// So many deviations up a draw may be.
inline constexpr double far_deviations = 3;
/// From then on nothing is carried but how far up a draw may be: `far`, with this layer's noise.
Spread apart_ways(const Spread& spread, double far, double noise);
/// Covers a draw as far down as up.
inline Doubt doubt_of(double far) {
  const double doubt = std::expm1(std::min(far, largest_log));
  return {doubt, doubt};
}
/// phi(u) w, both linear in the same input; `x`: the moments of u.
Spread through_gate(const Spread& spread, const WidthMoments& phi, const Alike<double>& x,
                    double width, const Counts& counts);
/// x and f as they enter the sum; their scalar product strays too.
Spread through_sum(const Spread& spread, const Spread& branch, const Alike<double>& x,
                   const Alike<double>& f, double width, const Counts& counts);

/// What the way back knows of a passage: the spread and moments of u.
struct BackPassage {
  Passage passage;
  Spread forward;
  Alike<double> x;
  double slope_kurtosis = 1;
  double far = 0;  ///< of phi', as in Spread; past 0 draws have parted ways
};
/// W^T g; x: its moments. In a plain stack (`follow`, brought up to date) what two tokens share of
/// W's noise goes by how they overlap in a draw.
Spread back_through_linear(const Spread& gradient, std::optional<Follow>& follow, double noise,
                           const Alike<double>& x, double width, const Counts& counts);
/// A part along x, relative to infinite width's E g^2.
inline void add_along(Follow& follow, double part, Spread& gradient) {
  gradient.shift += (1 + gradient.shift) * part / follow.more;
  follow.more += part;
}
/// phi'(u) g of independent tokens' gradients, which follow nothing of the signal.
Spread back_through_activation(const Spread& gradient, const BackPassage& back,
                               const Alike<double>& g, double width, const Counts& counts);
/// The same in a plain stack.
Spread back_through_activation(const Spread& gradient, const Follow& follow,
                               const BackPassage& back, double width, const Counts& counts);

}  // namespace scalecalc::moments
