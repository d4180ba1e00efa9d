#pragma once

#include <algorithm>

#include "moments/gradient.hpp"
#include "moments/passage.hpp"

/// Finite width (docs/theory/finite-width.md#log-variance): how far the realised average of x^2
/// over n features fluctuates, layer by layer. Plain double; a rule calls it with the averages of
/// its moments.
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

/// E x^2 of a feature about its mean over all samples.
double over_samples(const Alike<double>& x, const Counts& counts);
/// The covariance of two tokens' logarithms, from the variance of one's and of their average's.
double between_tokens(double one, double all, const Counts& counts);
/// The same of two tokens of one sequence: what tokens of two sequences share is less by the ratio
/// of the squared cosines of x about its mean, as Gaussian features have it.
double within_sequence(double one, double all, const Alike<double>& x, const Counts& counts);
/// Independent Gaussian features.
NormVariance gaussian_spread(const Alike<double>& x, double width, const Counts& counts);
/// y: the output's moments; `share`: the part of its second that comes from the input; `noise`: 2
/// for independent weights, 0 for square orthogonal ones.
NormVariance through_linear(const NormVariance& spread, double share, double noise,
                            const Alike<double>& y, double width, const Counts& counts);
/// Tokens y = sum_s p_s x_s after attention, of averages `y` up to a factor.
struct Mixed {
  Alike<double> y;
  double shared = 0;  ///< of E y^2, the part that all tokens have in common
  double p2 = 1;      ///< E sum_s p_s^2
};
/// Before W_v. Sums of Gaussian tokens are Gaussian: 2/n again, shared by as much as the new tokens
/// correlate; what tokens fluctuate beyond that, the sum does, by the average over tokens in its
/// shared part. Tokens of one length (`free`, the share of 2/n that theirs fluctuates, is 0) make
/// sums whose length fluctuates by x_s.x_s' alone: at a cosine c, (1 - c)^2 2/n in the shared part,
/// nothing where p picks one token.
NormVariance through_mix(const NormVariance& spread, const Alike<double>& x, const Mixed& mix,
                         double width, const Counts& counts);
/// ln of the size of u = xW: without the 2/n that its n Gaussian features add to what is measured.
/// Below 0 for orthogonal weights, which bring less.
LogSize log_size(const NormVariance& spread, double width);
NormVariance through_activation(const NormVariance& spread, const Passage& passage,
                                const WidthMoments& phi, const Alike<double>& x, double width,
                                const Counts& counts, double distance_slope = 1);
/// Past a variance of 3 with a slope past 1, draws part ways: some die and some grow, which one
/// Gaussian in the logarithm does not describe.
inline constexpr double most_lognormal = 3;
bool leaves_lognormal(double variance, double slope);
/// Relative to E x^2: from a variance of 1 on two tokens of a draw have less in common than the
/// mean of a lognormal says, as the draws that it is made of have theirs apart. Of random models
/// no cross was off by more than e^(variance/4) - 1.
double omitted_of_cross(double variance, double slope);
/// So many deviations up a draw may be.
inline constexpr double range_deviations = 3;
/// From then on nothing is carried but how far up a draw may be: `far`, with this layer's noise.
NormVariance beyond_lognormal(const NormVariance& spread, double far, double noise);
/// Covers a draw as far down as up.
inline RelativeError error_of_range(double far) {
  const double bound = std::expm1(std::min(far, largest_log));
  return {bound, bound};
}
/// Beside what was not known before.
inline void add_range(RelativeError& error, double far) {
  const RelativeError of_range = error_of_range(far);
  error.second = std::max<double>(error.second, of_range.second);
  error.cross = std::max<double>(error.cross, of_range.cross);
  error.forget_apart();
}
/// phi(u) w, both linear in the same input, by weights that add `noise`/width each to the variance
/// of a size; `x`: the moments of u.
NormVariance through_gate(const NormVariance& spread, const WidthMoments& phi,
                          const Alike<double>& x, double noise, double width, const Counts& counts,
                          double distance_slope = 1);
/// x and f as they enter the sum; their scalar product fluctuates too.
NormVariance through_sum(const NormVariance& spread, const NormVariance& branch,
                         const Alike<double>& x, const Alike<double>& f, double width,
                         const Counts& counts);

/// Two branches, x and f as they are added up, that both start from `start`: their susceptibilities
/// are by it, and so is the sum's.
NormVariance through_branches(const NormVariance& start, const NormVariance& left,
                              const NormVariance& right, const Alike<double>& x,
                              const Alike<double>& f, double width, const Counts& counts);

/// What the way back knows of a passage: the spread and moments of u.
struct BackPassage {
  Passage passage;
  NormVariance forward;
  Alike<double> x;
  double slope_kurtosis = 1;
  double log_range = 0;  ///< of phi', as in NormVariance; past 0 draws have parted ways
};
/// W^T g; x: its moments. In a plain stack (`coupling`, brought up to date) what two tokens share
/// of W's noise goes by how they overlap in a draw.
NormVariance back_through_linear(const NormVariance& gradient,
                                 std::optional<SignalCoupling>& coupling, double noise,
                                 const Alike<double>& x, double width, const Counts& counts);
/// A part along x, relative to infinite width's E g^2.
inline void add_aligned(SignalCoupling& coupling, double part, NormVariance& gradient) {
  gradient.mean_shift += (1 + gradient.mean_shift) * part / coupling.size_ratio;
  coupling.size_ratio += part;
}
/// phi'(u) g of independent tokens' gradients, which follow nothing of the signal.
NormVariance back_through_activation(const NormVariance& gradient, const BackPassage& back,
                                     const Alike<double>& g, double width, const Counts& counts);
/// The same in a plain stack.
NormVariance back_through_activation(const NormVariance& gradient, const SignalCoupling& coupling,
                                     const BackPassage& back, double width, const Counts& counts);

}  // namespace scalecalc::moments
