#pragma once

#include "moments/attention_backward.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/weight_matrix.hpp"

/// Gradients of scores at pairs of tokens that overlap by what words or chance make alike.
namespace scalecalc::moments {

/// dk/dr of what comes back through scores, whose gradients are of the overlaps of values and keys:
/// sum x_t g_t of a feature has `beyond` of these besides the product of means, by pairs of one
/// sequence (docs/theory/attention.md#score-slopes). That of words is slope_of_words.
template <class C, class X>
OverlapSlope slope_of_scores(const AttentionRecord<C, X>& record, const OverlapDeviation& overlaps,
                             double beyond) {
  const double variance = overlaps.coherent * overlaps.coherent + overlaps.noise,
               tokens = record.counts.keys;
  if (record.words || !(variance > 0) || !(tokens > 1)) return {};
  const double slope = beyond / (record.batch * tokens * (tokens - 1) * variance);
  return {slope, slope * overlaps.coherent};
}

/// To the gradients of Wq and Wk, pairs of queries of two sequences. Their scores' gradients are of
/// keys of their own, whose overlaps are (1 - P2)^2 V of E tr(J V J' K), whatever the scores, times
/// what both queries, or their tokens, have in common (docs/theory/attention.md#between).
/// `overlap`: V/D^2 about the means of both sequences, as of one; `gradients`: E g_t.g_u of their
/// mixes; `shared`: its covariance with x_t.x_u, over E x^2.
template <class C, class X>
void add_between_sequences(const C& calculus, const Attention& layer,
                           const AttentionRecord<C, X>& record, double overlap, double gradients,
                           double shared, AttentionBackward<X>& made) {
  const double queries = record.counts.queries, batch = record.batch;
  if (record.rotation || batch < 2) return;
  const double rest = 1 - average(record.factors.mix).second;
  const double pairs = batch * (batch - 1) * queries * queries * rest * rest * overlap *
                       record.score_scale * average(record.apart_v).cross;
  const Alike<double> input = values_of(calculus, record.input);
  // A bias is shared by all queries.
  const double gain = gain_of(calculus, layer.q), bias = calculus.bias_variance(layer.q),
               size = gain * input.second + bias;
  const double cosine = size > 0 ? (gain * input.between + bias) / size : 0;
  double of_query = average(record.gradient_k).second;
  if (layer.qk_norm) of_query *= average(record.query_weight_norm).cross;
  const double group = static_cast<double>(layer.heads) / static_cast<double>(layer.kv_heads);
  const double query = weight_scale(calculus, layer.q) * pairs * of_query *
                       (input.between * gradients + input.second * shared),
               key = weight_scale(calculus, layer.k) * group * pairs *
                     average(record.queries).second * average(record.gradient_source).second *
                     (cosine * gradients + shared);
  made.q_weight = calculus.positive(made.q_weight + query);
  made.k_weight = calculus.positive(made.k_weight + key);
}

}  // namespace scalecalc::moments
