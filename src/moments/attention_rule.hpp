#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "moments/activation_error.hpp"
#include "moments/attention_keys.hpp"
#include "moments/attention_mix.hpp"
#include "moments/attention_norms.hpp"
#include "moments/attention_residual.hpp"
#include "moments/attention_scores.hpp"
#include "moments/attention_values.hpp"
#include "moments/attention_words.hpp"
#include "moments/head_lengths.hpp"
#include "moments/linear_map.hpp"
#include "moments/softcap.hpp"
#include "moments/turned_growth.hpp"

/// Softmax attention (docs/theory/attention.md#leading). With p the softmax of scores of variance
/// tau2 = scale^2 d_h m_q Dk and D = E x_s^2 - E x_s x_s' over the keys,
///   m_o = r_v + P2 Dv,  r_o = r_v + O Dv;
///   g_q = scale^2 d_h A Dv Dk g_o,  k_q the same with A' and k_o;
///   g_v, g_k sum over the queries P2 g_o, O k_o; scale^2 d_h Dv m_q (A g_o, c A' k_o).
/// All of it entry by entry, for tokens that are alike and for rows of a mask; these differ in how
/// keys are averaged over and gradients go back to them (attention_keys.hpp).
namespace scalecalc::moments {

/// What the biases of a head add to the variance of P2 over draws, and what their covariance alone
/// leaves out: the second order of few numbers, and that equal keys, which are taken to share a
/// score, have biases of their own, of all but one of a word's keys.
template <class X>
void add_biases(const ScoreSum<X>& sum, double head_variance, bool words, const Signal<X>& source,
                Scores& scores) {
  const double own = sum.own_share, others = own > 0 ? (1 - own) / own * scores.p2_growth : 0;
  scores.bias_variance = others * others * head_variance;
  const auto bounded = [](double x) { return x / (1 + x); };
  const double of_biases = 1 - own, variance = of_biases * average(sum.covariance).second;
  const auto second_order = [&](double bend) {
    return bounded(of_biases * of_biases * bend * head_variance / 2);
  };
  double apart = 0;
  if (words) {
    const double copies = 1 + static_cast<double>(source.tokens - 1) * source.repeats;
    apart = bounded(variance) * (1 - 1 / copies);
  }
  const double of_mix = second_order(scores.p2_bend) + apart,
               of_scores = second_order(scores.a_bend) + apart;
  scores.mix_truncation += of_mix;
  scores.truncation += std::max(of_mix, of_scores);
  scores.bias_truncation += std::max(of_mix, of_scores);
}

/// q, k, v are linear maps of the branch's input (k and v of `memory` when layer.over_memory). The
/// norm on the mix and the projection o are layers of their own.
template <class Record, class X>
struct AttentionForward {
  Signal<X> q, k, v, mix;
  Record record;
  std::optional<Signal<X>> values{};  ///< what is mixed, where it is not v
};

/// Moments of the first values, of their input and of `values`, what all are made of, over the keys
/// that queries q see; `own`: of this layer's v. With `words` keys are those that are different.
template <class C, class X>
FirstRecord<X> first_record(C& calculus, const Attention& layer, const FirstValues<X>& first,
                            const Signal<X>& values, const X& q, const X& own,
                            const KeyCounts<typename C::Number>& counts, bool words) {
  FirstRecord<X> made{first.source.x, {}, {}, first.values.x, {}, {}, values.x, {}, {}};
  const auto fill = [&](const X& x, double same, X& apart_x, X& shared) {
    const KeyMeans<X> means = key_means(q, words ? of_words(x, same) : x, counts);
    apart_x = apart(calculus, means);
    shared = without_between(means.other);
  };
  const double same = has_words(first.source) ? first.source.repeats : values.repeats;
  fill(made.source, same, made.apart, made.shared);
  fill(made.u, same, made.apart_u, made.shared_u);
  fill(made.values, values.repeats, made.apart_values, made.shared_values);
  if constexpr (C::next_orders) {
    const ValueShares<double> shares = value_shares(calculus, layer);
    const double v = shares.own * average(own).second, u = shares.first * average(made.u).second;
    if (v + u > 0) made.own = v / (v + u);
  }
  return made;
}

/// `residual`, of residual attention: the sum of the scores before this layer, then with its own;
/// `first`: the values that this layer's have in them.
template <class C, class X>
AttentionForward<AttentionRecord<C, X>, X> attention_forward(
    C& calculus, const Attention& layer, const Signal<X>& input, const Signal<X>* memory,
    const Counts& counts, std::optional<ScoreSum<X>>* residual = nullptr,
    const FirstValues<X>* first = nullptr) {
  using N = typename C::Number;
  const Signal<X>& source = memory ? *memory : input;
  const Counts source_counts{static_cast<double>(source.tokens), counts.batch};
  AttentionForward<AttentionRecord<C, X>, X> out;
  out.q = linear_forward(calculus, layer.q, input, counts);
  out.k = linear_forward(calculus, layer.k, source, source_counts);
  out.v = linear_forward(calculus, layer.v, source, source_counts);
  if (first) out.values = mixed_values(calculus, layer, out.v, *first, source, source_counts);
  const Signal<X>& values = out.values ? *out.values : out.v;
  std::optional<Signal<X>> mixture;
  if (first) mixture = mixed_source(calculus, layer, source, *first, source_counts);

  AttentionRecord<C, X>& record = out.record;
  record.input = input.x;
  record.source = source.x;
  record.counts = {
      calculus.size(input.tokens, "tokens"),
      memory ? calculus.size(source.tokens, "memory") : calculus.size(source.tokens, "tokens"),
      layer.causal && !memory, source.tokens == 1};
  if constexpr (std::is_same_v<X, PerPosition>) {
    if (weighs_keys(layer, source.tokens))
      record.counts.weights =
          key_weights(calculus.template cache<KnownKeyWeights>(), layer, input.x.positions);
  }
  record.batch = calculus.size(static_cast<std::int64_t>(counts.batch), "batch");
  const N scale = calculus.scale(layer);
  record.score_scale = scale * scale * calculus.size(layer.head_width, "head_width");
  record.turned_scale = rotary_score_scale(layer);
  if (record.turned_scale != 1)
    record.score_scale = record.score_scale * calculus.real(record.turned_scale);

  bool words = false;
  if constexpr (C::next_orders) words = shares_scores(layer, source, residual != nullptr);
  record.words = words;
  if constexpr (C::next_orders) record.same_keys = words ? source.repeats : 0;
  // Means over keys, and their overlaps, are of different words then, and so of queries.
  const bool query_words = words && has_words(input);
  const Signal<X> distinct = words ? of_words(source) : Signal<X>{};
  const Signal<X> distinct_queries = query_words && memory ? of_words(input) : Signal<X>{};
  const Signal<X>& keys = words ? distinct : source;
  const Signal<X>& asking = !query_words ? input : memory ? distinct_queries : distinct;
  const auto seen = [&](const X& x) { return words ? of_words(x, source.repeats) : x; };
  X q = query_words ? of_words(out.q.x, input.repeats) : out.q.x, k = seen(out.k.x);
  const X v = words ? of_words(values.x, values.repeats) : values.x;
  // Each token over the length of its key, as the gradient of Wk has it.
  std::optional<X> of_source;
  if (layer.qk_norm) {
    const HeadNorms norms(layer, static_cast<double>(input.width), input.normalised);
    record.query_norm = norm_factors(calculus, q, norms.query);
    record.query_weight_norm = norm_factors(calculus, q, norms.query_weights);
    record.key_norm = norm_factors(calculus, k, norms.key);
    of_source = of_sizes(norm_factors(calculus, k, norms.key_weights));
    q = normalised(calculus, q, norms.query);
    k = normalised(calculus, k, norms.key);
    record.query_cosine = cosines<C>(q);
  }
  const KeyMeans<X> means_v = key_means(q, v, record.counts);
  const KeyMeans<X> means_source = key_means(q, keys.x, record.counts);
  const KeyMeans<X> means_k = key_means(q, k, record.counts);
  record.apart_source = apart(calculus, means_source);
  if (first)
    record.first =
        first_record(calculus, layer, *first, *mixture, q, out.v.x, record.counts, words);
  const std::shared_ptr<const KeyWeights>& weights = record.counts.weights;
  const X& of_value = value_source(record);
  const std::optional<X> distinct_values =
      first && words ? std::optional(of_words(of_value, mixture->repeats)) : std::nullopt;
  const X& keyed_values = distinct_values ? *distinct_values : first ? of_value : keys.x;
  const ValueWeights<X> of_values{weights, apart_values(record)};
  record.rotation =
      rotation_of(calculus, layer, keyed_values, k, means_k, source.tokens, of_values);
  record.apart_k = turned_apart(calculus, means_k, record.rotation);
  record.gradient_k = record.rotation ? record.rotation->keys : record.apart_k;
  const X sized = of_source ? product(source.x, *of_source) : source.x;
  const KeyMeans<X> means_sized =
      of_source ? key_means(q, product(keys.x, *of_source), record.counts) : means_source;
  record.gradient_source = apart(calculus, means_sized);
  if (record.rotation)
    record.gradient_source =
        by_values(layer, *record.rotation, of_value, sized,
                  turned_apart(calculus, means_sized, record.rotation), of_values);
  if constexpr (std::is_same_v<X, PerPosition>) {
    if (weights && !record.rotation) {
      record.gradient_k = weighed_apart(*weights, of_value, k, of_values.apart);
      record.gradient_source = weighed_apart(*weights, of_value, sized, of_values.apart);
    }
  }
  record.shared_source = without_between(means_source.other);
  const X plain_apart = apart(calculus, means_v);
  record.apart_v = apart_with_dropout(calculus, layer, means_v);
  record.queries = geometric_seconds(q);
  N forward_scale = record.score_scale;
  ScoreCap cap;
  if (layer.softcap != 0) {
    const double of_queries = calculus.value(record.score_scale) * values_of(calculus, q).second;
    const Alike<double> of_keys = values_of(calculus, k);
    const double variance = of_queries * of_keys.second;
    const double apart_keys = of_queries * values_of(calculus, record.apart_k).second;
    cap = score_cap(layer.softcap, variance, variance - apart_keys);
    forward_scale = forward_scale * calculus.real(cap.forward);
    record.score_scale = record.score_scale * calculus.real(cap.backward);
    record.slopes_together = cap.together;
    calculus.assume("softcap", "a cap bends few of the scores", "Var s/c^2",
                    variance / (layer.softcap * layer.softcap), 0.05);
  }
  const bool adds = residual != nullptr && residual->has_value();
  if (residual != nullptr) {
    const X own = score_covariance(as_rows(q, record.rotation), record.apart_k);
    *residual = with_scores(calculus, *residual, scaled(own, record.score_scale));
    record.query_cosine = cosines<C>(q);
  }
  if constexpr (std::is_same_v<X, PerPosition>) {
    if (record.rotation && record.counts.causal && !weights && residual == nullptr) {
      const X variance = scaled(product(record.queries, of_sizes(record.apart_k)), forward_scale);
      record.growth = turned_growth(layer, of_value, k,
                                    with_cross(variance, cosines<C>(as_rows(q, record.rotation))));
      record.gradient_k = product(record.gradient_k, *record.growth);
      record.gradient_source = product(record.gradient_source, *record.growth);
    }
  }
  std::optional<ScoreSum<X>> biased;
  if constexpr (C::next_orders) {
    if (layer.relative.buckets > 0) {
      record.biases = biases_of(calculus, layer, keyed_values, of_values.apart, source.tokens);
      biased = with_biases(calculus, scaled(score_covariance(q, record.apart_k), forward_scale),
                           record.biases->overlap, layer, static_cast<double>(layer.head_width));
    }
  }
  SharedOverlap shared;
  if constexpr (C::next_orders) {
    if (first) {
      shared = shared_overlap(calculus, layer, out.v, *first, source);
      record.first->overlap = shared.first;
      record.first->overlaps = first_overlaps(calculus, *first, source);
    }
  }
  const ScoreInputs<N, X> inputs{layer,
                                 asking,
                                 keys,
                                 q,
                                 record.apart_k,
                                 plain_apart,
                                 record.apart_v,
                                 means_source,
                                 forward_scale,
                                 record.counts,
                                 adds     ? &**residual
                                 : biased ? &*biased
                                          : nullptr,
                                 source_counts,
                                 record.rotation ? &*record.rotation : nullptr,
                                 nullptr,
                                 layer.qk_norm ? &k : nullptr,
                                 first ? &keyed_values : nullptr,
                                 shared.values};
  Scores scores;
  if constexpr (std::is_same_v<X, Alike<double>>) {
    const auto of_keys = [&](const ScoreInputs<N, X>& of, Scores& found) {
      return softmax_factors(calculus, of, found);
    };
    WordCounts counted = word_counts(source.repeats, source.triples, source.different,
                                     static_cast<double>(source.tokens));
    if (memory) counted.same = query_words ? input.repeats : 0;
    record.factors = words ? word_factors(of_keys, inputs, counted, scores, record.word_masks)
                           : of_keys(inputs, scores);
  } else if constexpr (C::next_orders) {
    const auto of_rows = [&](const ScoreInputs<N, X>& of, Scores& found) {
      return softmax_factors(calculus, of, found);
    };
    record.factors = words ? word_factors(of_rows, inputs, query_words ? input.repeats : 0, source,
                                          scores, record.word_masks)
                           : of_rows(inputs, scores);
  } else {
    record.factors = softmax_factors(calculus, inputs, scores);
  }
  if constexpr (C::next_orders) {
    if (biased) add_biases(*biased, record.biases->overlap.head_variance, words, source, scores);
  }
  scores.truncation += cap.omitted;
  scores.mix_truncation += cap.omitted;
  record.truncation = scores.truncation;
  if constexpr (C::next_orders) record.truncation += unknown_distance(source, record.apart_source);
  record.bias_truncation = scores.bias_truncation;
  record.value_truncation = scores.mix_truncation + scores.grid_truncation;
  record.values_truncation = scores.values_truncation;
  record.feedback_truncation = scores.feedback_truncation;
  record.rows_variance = scores.rows_variance;
  if constexpr (C::next_orders) {
    const double p2 = average(record.factors.mix).second;
    if (has_unit_heads(layer) && p2 > 0 && !averages_lengths(calculus, inputs))
      record.tilt = 4 * scores.p2_growth / p2;
  }

  Signal<X>& mix = out.mix;
  mix = values;
  mix.tokens = input.tokens;
  mix.none = 0;
  mix.width = layer.heads * layer.head_width;
  mix.x = sum(means_v.other,
              product(record.word_masks ? plain_apart : record.apart_v, record.factors.mix));
  double equal_rows = scores.equal_rows;
  if constexpr (C::next_orders) {
    if (record.word_masks) {
      const X& masked = record.word_masks->added;
      mix.x = sum(mix.x, masked);
      if (query_words)
        equal_rows *= equal_beside_masks(average(mix.x), average(masked).second, input.repeats);
    }
  }
  mix.x.between = between_means(input.x, values.x, record.counts);
  if constexpr (C::next_orders)
    finish_mix(layer, input, first ? words ? of_words(*mixture) : *mixture : keys, plain_apart,
               record, scores, counts, mix);
  // Masks of weights are each token's own, and those of keys leave a part equal.
  set_words(input, equal_rows, mix);
  mix.same_words = input.same_words && (!record.counts.causal || query_words) &&
                   (layer.dropout == 0 || query_words);
  if (query_words) add_word_overlap(mix);
  calculus.assume("attention", "scores are Gaussian, independent between keys given the query");
  return out;
}

}  // namespace scalecalc::moments
