#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "moments/attention_keys.hpp"
#include "moments/attention_rotation.hpp"
#include "moments/attention_scores.hpp"
#include "moments/attention_words.hpp"
#include "moments/first_values.hpp"
#include "moments/key_weights.hpp"
#include "moments/linear_map.hpp"
#include "moments/norm_samples.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/relative_bias.hpp"
#include "moments/token_distance.hpp"

/// The mix softmax(scale q k^T) v: what is known of it, and its finite width.
namespace scalecalc::moments {

template <class C, class X>
struct AttentionRecord {
  using N = typename C::Number;
  X input, source;  ///< what queries and keys are made of
  Factors<X> factors;
  X apart_v, apart_k, apart_source;  ///< Dv, Dk with rotation, and D of the source
  X gradient_k, gradient_source;     ///< Dk and D as gradients weigh them, D over normed keys' m
  X shared_source;                   ///< the source's x_s.x_s' over pairs of keys
  Seldom<FirstRecord<X>> first;      ///< of values with those of the first block in them
  X queries;                         ///< m_q, and (m_q m_q')^(1/2) for pairs, as scores see them
  /// With a qk-norm, what gradients are multiplied by: at q, at k and of Wq.
  X query_norm, key_norm, query_weight_norm;
  N score_scale{};          ///< scale^2 d_h, with what turned features are multiplied by
  double turned_scale = 1;  ///< that
  X query_cosine;           ///< of residual attention and of normed queries
  Seldom<Rotation<X>> rotation;
  Seldom<X> growth;  ///< of what comes back through scores of turned keys under a mask
  Seldom<Biases<X>> biases;
  NonNegative bias_truncation = 0;  ///< of their gradient
  bool words = false;               ///< equal keys share their scores
  double same_keys = 0;             ///< the chance that two of these are equal
  Seldom<WordMasks<X>> word_masks;  ///< of these, with attention dropout
  KeyCounts<N> counts;
  N batch{};
  NonNegative truncation = 0;  ///< of q, and of Wq and Wk
  NonNegative value_truncation = 0, feedback_truncation = 0;
  NonNegative values_truncation = 0;  ///< of what values add to the gradient of Wv
  RowsVariance rows_variance;         ///< of Scores
  /// Of normed keys whose rows are not averaged over their sphere, what scores' variance makes of
  /// (q k)^2 at a key of large weight, 1 + 4 tau2 of an even row's: not followed in the gradient of
  /// a bias.
  double tilt = 0;
  double slopes_together = 1;  ///< of two capped scores of a query
};

/// What values are made of, with D and x_s.x_s' over pairs of keys.
template <class C, class X>
const X& value_source(const AttentionRecord<C, X>& record) {
  return record.first ? record.first->values : record.source;
}
template <class C, class X>
const X& apart_values(const AttentionRecord<C, X>& record) {
  return record.first ? record.first->apart_values : record.apart_source;
}
template <class C, class X>
const X& shared_values(const AttentionRecord<C, X>& record) {
  return record.first ? record.first->shared_values : record.shared_source;
}

/// Seconds alone are multiplied.
template <class X, class N>
X scale_second(X x, const N& factor) {
  x.second = x.second * factor;
  return x;
}

/// Attention dropout: what is kept of p_s^2 is 1/(1 - rate) of it, while products of different p
/// stay (docs/theory/attention.md#attention-dropout): m_v/(1 - rate) - r_v in the place of Dv, rows
/// only.
template <class C, class X>
X apart_with_dropout(const C& calculus, const Attention& layer, KeyMeans<X> means) {
  if (layer.dropout > 0)
    means.same = scale_second(std::move(means.same),
                              typename C::Number(1 / (1 - calculus.real(layer.dropout))));
  return apart(calculus, means);
}

/// Heads that share their values mix them by scores of their own: what all keys share they have in
/// common, and 1/T of the rest. As many independent features fluctuate by as much.
template <class X>
double own_features(const Attention& layer, double apart, const Signal<X>& mix) {
  const double sharing = static_cast<double>(layer.heads) / static_cast<double>(layer.kv_heads);
  const double alike = std::clamp(1 - apart + apart / static_cast<double>(mix.tokens), 0.0, 1.0);
  return static_cast<double>(mix.width) / (1 + (sharing - 1) * alike * alike);
}

/// Of what queries of one word have in common beyond two words, `same` of all pairs, what masks
/// that add `masked` to each second moment leave.
inline double equal_beside_masks(const Alike<double>& mix, double masked, double same) {
  const double two = (mix.cross - same * (mix.second - masked)) / (1 - same);
  return mix.second > two ? std::clamp(1 - masked / (mix.second - two), 0.0, 1.0) : 1;
}

/// Of the gradients of scores, which go as D D_k: twice what is not known of D beyond the size.
template <class X>
double unknown_distance(const Signal<X>& source, const X& apart_source) {
  const double apart = average(apart_source).second;
  if (!(apart > 0)) return 0;
  const RelativeError& of = source.truncation;
  const Alike<double> x = average(source.x);
  const double distance = std::min(1.0, apart / x.second);
  const double unknown =
      std::min(std::max(0.0, of.cross - of.second), of.apart() + distance * of.second);
  return 2 * std::min(1.0, unknown) * x.second / apart;
}

/// Where the sources' m and r are not known, m_o = r_v + P2 D_v and r_o = r_v + O D_v are not
/// either, and D is in tau2 besides: of r what is left of 1 - P2 - tau2 dP2/dtau2, of m P2
/// (docs/theory/attention.md#unknown-cross). `ratio`: m_v/m_o; `weights`: P2 and O.
/// Of what both have in common, m_v, and of D_v where that is better known; D_o = (P2 - O) D_v goes
/// with D_v, with what queries differ by, and with tau2 as P2 does and once more.
inline RelativeError unknown_mix(const RelativeError& source, const Alike<double>& weights,
                                 double growth, double ratio) {
  const double cross = std::min<double>(source.cross, 1), apart = source.apart();
  const auto of = [&](double p, double c) { return std::fabs(1 - p - growth) * ratio * c; };
  const auto of_apart = [&](double p) { return ratio * source.second + of(p, apart); };
  const double p2 = weights.second;
  RelativeError made{
      std::min(std::max<double>(source.second, p2 * ratio * source.second + of(p2, cross)),
               of_apart(p2)),
      std::min(std::max<double>(source.cross, of(weights.cross, cross)), of_apart(weights.cross))};
  const double powers = 3 + (p2 > 0 ? std::fabs(growth) / p2 : 0);
  made.know_apart(ratio * std::max(0.0, p2 - weights.cross) * powers * apart);
  return made;
}

/// Of pairs of rows p.p' varies by itself and with the cosine of a head's queries, of variance
/// 1/d_h, and of one row p.p does, 1/T of what counts (docs/theory/layers.md#norm-samples-heads).
/// `weights`: P2 and O of rows over so many keys. What rows of like queries differ by varies from
/// row to row as it does where nothing is alike and they have 1/T in common.
inline HeadOverlap head_overlap(const Attention& layer, const Alike<double>& mix,
                                const Alike<double>& apart_v, const Alike<double>& weights,
                                double keys, const Scores& scores, const Counts& counts) {
  const double apart = mix.second - mix.cross, heads = static_cast<double>(layer.heads);
  if (!(apart > 0)) return {};
  const double pairs = scores.overlap_variance + scores.centred_slope * scores.centred_slope /
                                                     static_cast<double>(layer.head_width);
  const double one = (apart_v.cross * apart_v.cross * pairs +
                      apart_v.second * apart_v.second * scores.p2_variance / counts.tokens) /
                     (apart * apart);
  const double independent = layer.causal ? 2 / (keys + 1) : 1 / keys,
               together = std::min(weights.cross, independent),
               differ = std::max(apart / apart_v.second, weights.second - together);
  return {one, one / heads, scores.p2_variance / (differ * differ * heads)};
}

/// Of mixes as the output's weights read them. Beside what follows the queries, overlaps of any two
/// tokens go with those of their own values: all that two sequences have, and nothing about the
/// mean over tokens where rows weigh alike, so that `mix.overlap` has it not.
template <class C, class X>
OverlapDeviation overlap_of_mixes(const C& calculus, const Attention& layer, const Signal<X>& v,
                                  const Signal<X>& mix) {
  const OverlapDeviation values = overlap_deviation(calculus, v);
  OverlapDeviation made = overlap_deviation(calculus, mix);
  const double own = own_weight(layer, static_cast<double>(mix.tokens)),
               beside = own * own * values.coherent;
  made.coherent += beside;
  made.own = beside;
  const double all = made.coherent * made.apart;
  if (all > 0) made.of_two = beside * values.apart / all;
  return made;
}

/// The mix as a linear map of its tokens' averages; the heads' own P2 fluctuate besides. Its size
/// grows with the input's as v does and as P2 does with tau2. Overlaps of the mix move with those
/// of the queries, of `input`. `plain_apart`: Dv without attention dropout.
template <class C, class X>
void finish_mix(const Attention& layer, const Signal<X>& input, const Signal<X>& source,
                const X& plain_apart, const AttentionRecord<C, X>& record, const Scores& scores,
                const Counts& counts, Signal<X>& mix) {
  const Alike<double> o = average(mix.x), dv = average(record.apart_v);
  const double heads = static_cast<double>(layer.heads);
  const double share = o.second > 0 ? dv.second / o.second : 0;
  const bool has_masks = static_cast<bool>(record.word_masks);
  const double masked = has_masks ? average(record.word_masks->added).second : 0;
  Alike<double> part =
      average(product(has_masks ? plain_apart : record.apart_v, record.factors.mix));
  part.second += masked;
  const double of_second = o.second > 0 ? part.second / o.second : 0;
  const double of_cross = o.second > 0 ? std::fabs(part.cross) / o.second : 0;
  const Mixed mixed{o, std::clamp(1 - of_second, 0.0, 1.0),
                    std::clamp(average(record.factors.mix).second, 0.0, 1.0)};
  mix.spread =
      through_linear(through_mix(source.spread, average(source.x), mixed,
                                 static_cast<double>(source.width), counts),
                     1, weight_noise(layer.v), o, own_features(layer, of_second, mix), counts);
  // What attention dropout makes tokens differ by is of new masks.
  if (const double apart = o.second - o.cross; layer.dropout > 0 && apart > 0) {
    const double plain = average(product(plain_apart, record.factors.mix)).second;
    const double fresh = has_masks ? masked : std::max(0.0, part.second - plain);
    pass_distance(NormVariance(mix.spread), distance_slope(1, apart - fresh, apart), 1, mix.spread);
  }
  mix.dropped.reset();
  if (source.dropped && o.second > 0) {
    const Alike<double> x = average(source.x);
    mix.dropped = mixed_paths(*source.dropped, of_second, 1 - of_second,
                              x.second > 0 ? x.cross / x.second : 0);
    const double variance = mix.dropped->variance();
    mix.spread.token_variance += variance;
    mix.spread.batch_variance += variance / counts.batch;
  }
  const double fluctuation = share * share * scores.p2_variance / heads;
  mix.spread.token_variance += fluctuation;
  mix.spread.batch_variance += fluctuation / counts.tokens;
  const double of_biases = share * share * scores.bias_variance / heads;
  mix.spread.token_variance += of_biases;
  mix.spread.batch_variance += of_biases;
  // One token's size is that of its query, and of a key in T; a memory moves with nothing.
  const double of_query = share * scores.p2_growth;
  if (layer.over_memory) {
    mix.spread.susceptibility = of_query * input.spread.susceptibility;
    mix.spread.own_ratio = input.spread.own_ratio;
  } else {
    const double of_all = 1 + 2 * of_query;
    const double of_value = of_second / static_cast<double>(source.tokens);
    mix.spread.susceptibility *= of_all;
    mix.spread.own_ratio *= std::clamp((of_query + of_value) / of_all, 0.0, 1.0);
  }
  if (o.second > 0)
    mix.spread.distance_susceptibility =
        (part.second - dv.second + dv.second * scores.p2_growth) / o.second;
  const Overlap<double>& in = input.overlap;
  const double slope = dv.cross * scores.overlap_slope;
  mix.map_overlap = mix.weight_cumulant = mix.mean_pairs = 0;
  // Sums over tokens share these, wherever their positions are.
  if (mix.overlap_lags) mix.overlap_lags = OverlapLags{{1}, 1};
  mix.mask_overlap = slope * slope * input.mask_overlap +
                     dv.cross * dv.cross * std::max(0.0, scores.mean_overlap) / heads;
  mix.overlap = {slope * in.coherent,
                 slope * slope * in.noise + dv.cross * dv.cross *
                                                (scores.overlap_variance / heads +
                                                 scores.centred_slope * scores.centred_slope /
                                                     static_cast<double>(source.width))};
  mix.head_overlap = head_overlap(layer, o, dv, average(record.factors.mix),
                                  static_cast<double>(source.tokens), scores, counts);
  const auto bound = [&](const RelativeError& of_source, double own, double of_two) {
    RelativeError made{of_source.second + own * of_second,
                       of_source.cross + (own + of_two) * of_cross};
    made.know_apart(of_source.apart() + own * (of_second + of_cross) + of_two * of_cross);
    return made;
  };
  mix.fresh = fresh_overlap(o, weight_noise(layer.v), own_features(layer, of_second, mix));
  mix.error = bound(source.error, scores.error, 0);
  const double of_value =
      1 - of_second + (o.second > 0 ? average(plain_apart).second / o.second : 0);
  mix.truncation =
      bound(unknown_mix(source.truncation, average(record.factors.mix), scores.p2_growth, of_value),
            scores.mix_truncation, scores.overlap_truncation);
  // Masks of weights are each token's own.
  if (layer.dropout > 0) {
    mix.error.forget_apart();
    mix.truncation.forget_apart();
  }
}

}  // namespace scalecalc::moments
