#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "moments/attention_feedback.hpp"
#include "moments/attention_keys.hpp"
#include "moments/attention_norms.hpp"
#include "moments/attention_residual.hpp"
#include "moments/attention_rotation.hpp"
#include "moments/attention_rows.hpp"
#include "moments/attention_softmax.hpp"
#include "moments/head_lengths.hpp"
#include "moments/linear_map.hpp"
#include "moments/weighed_rows.hpp"
#include "scalecalc/error.hpp"

/// From the moments of q and k to the factors of attention, entry by entry.
namespace scalecalc::moments {

/// As states: `second` of RowFactors, `cross` of PairFactors.
template <class X>
struct Factors {
  X mix, value, query, key, query_weight, key_weight, value_weight;
  AlignedFeedback<X> feedback{};  ///< of double calculi
  X slope{};                      ///< A' of two rows, of double calculi
  X score{};                      ///< of the scores themselves, of double calculi
};

/// What else the mix is told: averages over rows and pairs, of double calculi.
struct Scores {
  double p2_variance = 0;  ///< of one head's sum p^2
  double p2_growth = 0;    ///< tau2 dP2/dtau2
  /// tau2^2 of second derivatives, over P2 and over A: of sizes.
  NonNegative p2_bend = 0, a_bend = 0;
  double overlap_slope = 0;     ///< dO/dr of the input
  double centred_slope = 0;     ///< that times D
  double overlap_variance = 0;  ///< of one head's p.p'
  double mean_overlap = 0;      ///< of that, what rows have in common
  NonNegative error = 0, truncation = 0, mix_truncation = 0, feedback_truncation = 0;
  NonNegative values_truncation = 0;
  NonNegative overlap_truncation = 0;  ///< of two rows' mixes alone, beside mix_truncation
  NonNegative grid_truncation = 0;     ///< of gradients at values, of keys with weights on a grid
  NonNegative bias_truncation = 0;     ///< of the gradient of the scores' biases
  double bias_variance = 0;            ///< of P2, of the biases that all rows of a head have
  RowsVariance rows_variance;          ///< of what comes back to rows' scores
  /// Of what rows make of values that differ, what two rows of one query have in common beyond rows
  /// of two: less than 1 under a mask, where the later row sees more keys.
  double equal_rows = 1;
};

template <class N, class X>
struct ScoreInputs {
  const Attention& layer;
  const Signal<X>& input;
  const Signal<X>& source;
  const X& q;  ///< as the scores see it: after a qk-norm
  const X& apart_k;
  const X& plain_apart_v;  ///< Dv
  const X& apart_v;        ///< with attention dropout
  const KeyMeans<X>& source_means;
  const N& score_scale;  ///< scale^2 d_h
  const KeyCounts<N>& counts;
  const ScoreSum<X>* sum = nullptr;  ///< where scores of other layers are added
  Counts over{};                     ///< of the keys' tokens
  const Rotation<X>* rotation = nullptr;
  const std::vector<double>* row_keys =
      nullptr;                     ///< in place of the numbers of tokens that rows see
  const X* normed_keys = nullptr;  ///< of a qk-norm: of other sizes than the tokens
  const X* values = nullptr;       ///< what they are made of, if it is not `source` alone
  double shared_overlap = 1;       ///< Smallness::values
};

/// V/D^2: one over the dimensions that the centred tokens fill, so at most 1, which bounds the
/// growth that overlaps carry along (docs/theory/attention.md#overlap) once tokens have all but
/// become one; 1/d where they have.
template <class X>
double relative_overlap(const Signal<X>& x) {
  const Alike<double> mean = average(x.x);
  const double apart = mean.second - mean.cross,
               variance = x.overlap.variance() - overlap_of_tokens(x);
  const double fresh = 1 / static_cast<double>(x.width);
  const double found = variance / (apart * apart);
  return apart > 0 && variance > 0 && std::isfinite(found) ? std::min(found, 1.0) : fresh;
}

template <class N, class X>
Smallness smallness(const ScoreInputs<N, X>& inputs) {
  Smallness small;
  small.width = static_cast<double>(inputs.source.width);
  small.head_width = rotary_features(inputs.layer);
  if (inputs.sum) {
    small.head_width /= inputs.sum->concentration;
    small.added = 1 - inputs.sum->bias_share;
    if (small.added < 1) small.along = small.added / inputs.sum->concentration;
  }
  small.overlap = relative_overlap(inputs.source);
  small.query_overlap = relative_overlap(inputs.input);
  small.values = inputs.shared_overlap;
  small.length = std::max<double>(2 / small.width, inputs.source.spread.token_variance);
  // Tokens of Gaussian features that fill 1/overlap directions have sizes of that variance, and
  // Gaussian scores. What sizes differ by within a draw beyond it makes scores as much heavier as
  // one length makes them lighter.
  const double own = 2 * small.overlap;
  const double one = inputs.source.spread.token_variance;
  const double shared = between_tokens(one, inputs.source.spread.batch_variance, inputs.over);
  small.normalised = one < own ? 1 - one / own : -std::max(0.0, one - std::max(own, shared)) / own;
  small.qk_norm = has_unit_heads(inputs.layer);
  small.normed_keys = inputs.layer.qk_norm;
  if (small.qk_norm && inputs.layer.qk_norm_eps > 0) {
    // Beside eps a share of a query's length is left: of its scores' variance.
    const double left = 1 - average(inputs.q).second;
    small.heads += left * left * 2 / small.head_width;
  }
  if (inputs.layer.qk_norm_all && !small.qk_norm) small.length = 2 / small.width;
  return small;
}

/// Throws Error(input) for scores whose variance the integrals do not cover.
void check_scores(const Attention& layer, double tau2);

/// Correlation of two rows of scores, and cosine of their queries: the same where no scores are
/// added.
struct RowPair {
  double c, cosine;
};

/// In double, with the next orders; `lengths` where these are averaged over the lengths of queries.
Factors<Alike<double>> next_factors(const ScoreInputs<double, Alike<double>>& inputs,
                                    const SoftmaxAverages& averages, double tau2,
                                    const RowPair& pair, EqualPairLengths* lengths, Scores& scores);
ScoreLine score_line(const ScoreInputs<double, Alike<double>>& inputs, double gain_q,
                     double gain_k);
RowScores row_scores(const ScoreInputs<double, PerPosition>& inputs);
Factors<PerPosition> next_factors(const ScoreInputs<double, PerPosition>& inputs,
                                  const RowScores& rows, RowAverages averages,
                                  bool averages_lengths, int threads, Scores& scores);
/// Whether these scores are averaged over the lengths of queries (head_lengths.hpp): not where
/// others are added, or keys weigh unequally before any score does.
template <class C, class X>
bool averages_lengths(C& calculus, const ScoreInputs<double, X>& inputs) {
  if (calculus.options().lognormal_softmax || inputs.sum != nullptr) return false;
  if (calculus.template cache<AttentionLayers>().is_deep()) return false;
  if constexpr (std::is_same_v<X, PerPosition>) {
    if (inputs.counts.weights) return false;
  }
  const double tau2 =
      inputs.score_scale * average(inputs.q).second * average(inputs.apart_k).second;
  return HeadLengths::are_few(smallness(inputs), tau2);
}

template <class C>
Factors<AlikeOf<C>> softmax_factors(C& calculus,
                                    const ScoreInputs<typename C::Number, AlikeOf<C>>& inputs,
                                    Scores& scores) {
  using N = typename C::Number;
  const N cosine = inputs.q.cross / inputs.q.second;
  const N own = calculus.positive(N(inputs.score_scale * inputs.q.second * inputs.apart_k.second));
  const N tau2 = inputs.sum ? inputs.sum->covariance.second : own;
  const N turned = inputs.rotation ? N(cosine * inputs.rotation->rows.cross) : cosine;
  const N c = inputs.sum ? N(inputs.sum->covariance.cross / tau2) : turned;
  if constexpr (C::next_orders) {
    const auto gain = [&](const Linear& layer) {
      return calculus.size(layer.fan_in, "fan_in") * calculus.variance(layer);
    };
    check_scores(inputs.layer, tau2);
    const auto correlation = [](double of, double second) {
      return second > 0 ? std::clamp(of, -1.0, 1.0) : 1.0;
    };
    const RowPair rows{correlation(c, tau2), correlation(cosine, inputs.q.second)};
    const ScoreLine line = score_line(inputs, gain(inputs.layer.q), gain(inputs.layer.k));
    EqualPairLengths* const lengths =
        averages_lengths(calculus, inputs) ? &calculus.template cache<EqualPairLengths>() : nullptr;
    return next_factors(inputs, calculus.softmax_averages(line, rows.c), line.tau2(rows.c), rows,
                        lengths, scores);
  } else {
    RowFactors<N> row;
    PairFactors<N> pair;
    leading_factors(calculus, inputs.source.tokens, tau2, c, cosine, row, pair);
    const auto both = [](const N& second, const N& cross) {
      return Alike<N>{N(0), second, cross, N(0)};
    };
    return {both(row.mix, pair.mix),
            both(row.value, pair.value),
            both(row.query, pair.query),
            both(row.key, pair.key),
            both(N(0), N(0)),
            both(row.key_weight, pair.key_weight),
            both(row.value_weight, pair.value_weight)};
  }
}

template <class C>
Factors<PerPosition> softmax_factors(C& calculus, const ScoreInputs<double, PerPosition>& inputs,
                                     Scores& scores) {
  const RowScores rows = row_scores(inputs);
  for (const double tau2 : rows.tau2) check_scores(inputs.layer, tau2);
  RowAverages averages = softmax_values(calculus, rows);
  OmittedOfWeights omitted;
  if (inputs.counts.weights) omitted = weigh(*inputs.counts.weights, rows, averages);
  Factors<PerPosition> factors =
      next_factors(inputs, rows, std::move(averages), averages_lengths(calculus, inputs),
                   calculus.options().threads, scores);
  scores.mix_truncation += omitted.value;
  scores.truncation += omitted.score;
  return factors;
}

}  // namespace scalecalc::moments
