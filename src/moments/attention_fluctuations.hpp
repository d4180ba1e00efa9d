#pragma once

#include <algorithm>
#include <cmath>

#include "moments/attention_backward.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/weight_matrix.hpp"

/// What the gradients of values and their weights have beside products of means, where the
/// gradients of mixes overlap more in the draws in which the inputs do
/// (docs/theory/attention.md#fluctuations). Those of queries and keys: attention_pairs.hpp.
namespace scalecalc::moments {

/// Covariance of two rows' p.p' with their gradients' g.g', no more than the deviation of p.p'
/// times E g^2 (Cauchy-Schwarz): dk/dr is of small fluctuations. `weights`: the overlap of mixes
/// r = D p.p' over D = `apart`, by its deviation and by its variance, of which p.p' has 1/D.
inline double shared_weights(const OverlapSlope& slope, const OverlapDeviation& weights,
                             double apart, double second) {
  if (!(apart > 0)) return 0;
  const double most = second * std::sqrt(weights.coherent * weights.coherent +
                                         std::max(0.0, weights.noise) / apart);
  return std::clamp(slope.own * weights.noise + slope.stream * weights.coherent, -most, most);
}

/// Of two rows of one sequence and of two: (E z_t^2 E z_u^2 + (E z_t z_u)^2) of the means z = P x
/// over keys, which n z_t.z_u of Gaussian features has for its variance, over that of the keys x.
struct MeanKeyVariance {
  double within = 0, between = 0;
};
/// Gradients whose sum over a sequence is `level` of what it might be see so much of what all means
/// have in common.
inline MeanKeyVariance mean_key_variance(const Alike<double>& keys, Alike<double> means,
                                         double level = 1) {
  means.second -= (1 - level) * means.cross;
  means.cross *= level;
  means.between *= level;
  const auto share = [&](double of_means, double of_keys) {
    const double all = keys.second * keys.second + of_keys * of_keys;
    return all > 0 ? (means.second * means.second + of_means * of_means) / all : 0;
  };
  return {share(means.cross, keys.cross), share(means.between, keys.between)};
}

/// Of the values' weights, but for what these are multiplied by, which are given the means P x:
/// `keys` is of x, `g` of the mixes.
template <class C, class X>
double fluctuation_of_values(const C& calculus, const Attention& layer,
                             const AttentionRecord<C, X>& record, const OverlapDeviation& keys,
                             const Gradient<X>& g, const Counts& counts, const ValueInput<X>& of) {
  OverlapSlopes slopes = g.slopes;
  const auto follows = [](const OverlapSlope& s) { return s.own != 0 || s.stream != 0; };
  if (!follows(slopes.within) && !follows(slopes.between)) return 0;
  X means = sum(of.shared, product(of.apart, record.factors.mix));
  means.between = between_means(record.input, of.source, record.counts);
  const MeanKeyVariance share =
      mean_key_variance(values_of(calculus, of.source), values_of(calculus, means),
                        level_of_sum(values_of(calculus, g.x), counts.tokens));
  const auto scale = [](OverlapSlope& s, double by) { s = {s.own * by, s.stream * by}; };
  scale(slopes.within, share.within);
  scale(slopes.between, share.between);
  // Of r the values of this layer's own weights have their share.
  slopes = slopes.each([&](const OverlapSlope& s) {
    return OverlapSlope{s.own * value_shares(calculus, layer).own, s.stream};
  });
  const double group = static_cast<double>(layer.heads) / static_cast<double>(layer.kv_heads);
  return group * overlap_covariance(slopes, keys, gain_of(calculus, layer.v), counts);
}

}  // namespace scalecalc::moments
