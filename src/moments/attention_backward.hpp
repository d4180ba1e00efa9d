#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "moments/along_tokens.hpp"
#include "moments/attention_rule.hpp"
#include "moments/equal_keys.hpp"
#include "moments/equal_words.hpp"
#include "moments/value_weight.hpp"
#include "moments/word_scores.hpp"

/// Attention's way back: gradients at queries, keys and values, and of their weights, from that at
/// the mix (docs/theory/attention.md).
namespace scalecalc::moments {

template <class X>
struct AttentionBackward {
  X q, k, v;  ///< gradients at those sites
  /// Of normed keys, k as sums over the keys have it: what a bias gets.
  std::optional<X> k_sums{};
  typename X::Number k_sum_along{};  ///< and what keys of large weight have along their queries
  double k_sum_omitted = 0;          ///< of that
  X input;   ///< what goes back to the branch's input through q, and k and v unless these
  X memory;  ///< are of a memory, to which theirs go
  /// E (dL/dw)^2 of one entry, loss summed over tokens, batch terms included.
  typename X::Number q_weight, k_weight, v_weight;
  /// What goes to the first block's values, and of their weights; at that block what has come from
  /// the others, and its own v.
  Seldom<FirstGradient<X>> first{}, from_first{};
  Seldom<X> own_v{};
  double first_of_values = 0, first_of_input = 0;  ///< of E v^2 and E `input`^2, what is of these
  typename X::Number biases{};     ///< likewise of the table of scores' biases, of this layer alone
  typename X::Number aligned{};    ///< of what k and v are made of: that times x_t
  double memory_beyond_pairs = 0;  ///< Gradient::beyond_pairs of the memory
  /// Of what comes back along the memory, `memory_gain` y_t: E y_t.y'_u of two layers alike.
  std::optional<X> memory_along{};
  std::optional<X> along_tokens{};  ///< K of what k and v are made of, of that of the mix
  double memory_gain = 0;
  double through_queries = 1;  ///< of E `input`^2
  double equal_queries = 1;    ///< E g_t g_u of two equal queries over E g^2
  double equal_keys = 1;       ///< E g_s g_r of two equal keys over E g^2
  double equal_values = 1;     ///< of that, at values
  double key_share = 0;        ///< of E `memory`^2, what comes through keys
  RelativeError truncation;    ///< of `input`, relative to its second
  RelativeError memory_truncation;
  NonNegative q_truncation = 0, k_truncation = 0, v_truncation = 0;  ///< of the weights', relative
  NonNegative v_weight_truncation = 0;                               ///< of Wv's besides
};

/// P^T P x of two heads of averages by head, or of two layers: of factors averaged over H heads
/// 1 - 1/H are those.
template <class X>
AlignedFeedback<X> feedback_of_two(const Factors<X>& factors, std::int64_t heads) {
  AlignedFeedback<X> two = factors.feedback;
  if (heads < 2) return two;
  const double one = 1 / static_cast<double>(heads);
  const auto of_two = [&](const X& averaged, const X& same_head) {
    return scaled(sum(averaged, scaled(same_head, -one)), 1 / (1 - one));
  };
  two.mix = of_two(factors.feedback.mix, factors.mix);
  two.values = of_two(factors.feedback.values, product(factors.mix, factors.value));
  return two;
}

/// What comes back along the tokens through W_v^T W_v: y = P^T P x, with E x.y/E x.x of it aligned.
template <class C, class X>
void feedback_to_source(const C& calculus, const Attention& layer,
                        const AttentionRecord<C, X>& record, double aligned,
                        AttentionBackward<X>& out) {
  const double gain = value_shares(calculus, layer).own * aligned *
                      static_cast<double>(layer.heads * layer.head_width) *
                      calculus.variance(layer.v);
  if (gain == 0) return;
  const X back = fed_back(record.factors.feedback, record.shared_source, record.apart_source,
                          record.input, record.source, record.counts);
  X& source = layer.over_memory ? out.memory : out.input;
  source = sum(source, scaled(back, gain * gain));
  if (layer.over_memory) {
    out.memory_gain = gain;
    out.memory_along = fed_back(feedback_of_two(record.factors, layer.heads), record.shared_source,
                                record.apart_source, record.input, record.source, record.counts);
  }
  const X along = sum(record.shared_source, product(record.apart_source, record.factors.value));
  const double m = average(record.source).second;
  const double each = record.counts.queries / record.counts.keys;
  if (m > 0) out.aligned = each * gain * average(along).second / m;
}

/// Of a gradient along the mixes of all tokens, K: the values get P^T K P x, of which
/// feedback_to_source has what a token's own mix makes, and the scores no more, as J leaves nothing
/// of what all rows have in common (docs/theory/attention.md#along-tokens).
template <class C, class X>
void tokens_to_source(const C& calculus, const Attention& layer,
                      const AttentionRecord<C, X>& record, const X& k, AttentionBackward<X>& out) {
  const double gain = value_shares(calculus, layer).own *
                      static_cast<double>(layer.heads * layer.head_width) *
                      calculus.variance(layer.v);
  const auto back = [&](const X& of) {
    return scaled(tokens_to_keys(of, record.factors.value, record.source, record.counts), gain);
  };
  const auto& keys = record.counts.keys;
  const X source = without_mean(record.source), own = back(own_tokens(k));
  out.along_tokens = back(k);
  X& to = layer.over_memory ? out.memory : out.input;
  to =
      with_positive_second(calculus, sum(to, squares_beyond(*out.along_tokens, own, source, keys)));
  const double m = average(source).second;
  if (m > 0) out.aligned = average(over_tokens(*out.along_tokens, source, keys)).second / m;
}

/// Heads that share their values get P^T z each of the same v: E (P_h^T z_h).(P_h'^T z_h') of two
/// heads, of which factors averaged over H heads have 1 - 1/H.
template <class C, class X>
X between_heads(const C& calculus, const Attention& layer, const AttentionRecord<C, X>& record) {
  const double gain =
      static_cast<double>(layer.v.fan_in) * calculus.value(calculus.variance(layer.v));
  return fed_back(feedback_of_two(record.factors, layer.heads), scaled(shared_values(record), gain),
                  record.apart_v, record.input, record.source, record.counts);
}

/// What comes to the scores of a key from all queries: of `rows`, of `same` keys and of two.
template <class C, class X>
X scores_to_keys(const Attention& layer, const AttentionRecord<C, X>& record, const X& rows,
                 const X& same, const X& other) {
  if constexpr (std::is_same_v<X, PerPosition>) {
    if (record.counts.weights && !record.rotation)
      return weighed_to_keys(*record.counts.weights, value_source(record), apart_values(record),
                             rows);
    if (record.rotation && record.counts.causal && !record.counts.weights)
      return turned_to_keys(layer, value_source(record), apart_values(record),
                            record.growth ? product(rows, *record.growth) : rows);
  }
  return to_keys(same, other, record.source, record.counts);
}

/// Of one entry of the table of biases: dL/ds added up over the scores of a bucket, of all
/// sequences (docs/theory/attention.md#relative). Of a gradient along the mix (d_h Dv J p)^2.
template <class C, class X>
double gradient_of_biases(const Attention& layer, const AttentionRecord<C, X>& record,
                          const X& gradient, double aligned) {
  const double features = static_cast<double>(layer.head_width);
  X scores = scaled(
      product(product(record.apart_v, without_between(gradient)), record.factors.score), features);
  const X along = product(product(record.apart_v, record.apart_v), record.factors.feedback.score);
  scores = sum(scores, scaled(along, aligned * aligned * features * (features + 1)));
  const double all =
      pair_sum(product(scores, record.biases->gradient), record.counts.queries, record.batch);
  return std::max(all, 0.0) / static_cast<double>(layer.relative.buckets);
}

/// Covariances of two rows' gradients' overlap, with their p.p', and with the cosine of their
/// queries; `words` are the queries'.
struct SharedOverlaps {
  double weights = 0, queries = 0;
  WordPairs words{};
};

/// Gradients at q, k and v from that at the mix, `aligned` times the mix in it. `residual`, of
/// residual attention: what comes to the scores from the layers above, then with this one's.
template <class C, class X>
AttentionBackward<X> attention_backward(C& calculus, const Attention& layer,
                                        const AttentionRecord<C, X>& record, const X& gradient,
                                        const typename C::Number& aligned,
                                        const SharedOverlaps& shared = {},
                                        std::optional<ScoreGradient<X>>* residual = nullptr) {
  using N = typename C::Number;
  const Factors<X>& factors = record.factors;
  AttentionBackward<X> out;
  // Of the scores' gradient: scale^2 d_h Dv g_o.
  const X scores = scaled(product(record.apart_v, without_between(gradient)), record.score_scale);
  // Of a gradient along the mix: (d_h Dv J p)^2, and the lengths of v about d_h.
  const N own_score = record.score_scale * aligned * aligned *
                      calculus.real(static_cast<double>(layer.head_width) + 1);
  const auto along_mix = [&](const X& feedback) {
    return scaled(product(product(record.apart_v, record.apart_v), feedback), own_score);
  };
  const auto at_scores = [&](const X& factor, const X& feedback) {
    X found = product(scores, factor);
    if constexpr (C::next_orders) {
      if (own_score > 0) found = sum(found, along_mix(feedback));
    }
    return found;
  };
  const WordMasks<X>* const masks = record.word_masks ? &*record.word_masks : nullptr;
  const X& of_query_weights = masks ? masks->query_weight : factors.query_weight;
  X query_scores = at_scores(masks ? masks->query : factors.query, factors.feedback.query);
  X key_scores = at_scores(factors.key, factors.feedback.key);
  X key_weight_scores =
      at_scores(masks ? masks->key_weight : factors.key_weight, factors.feedback.key_weight);
  X own = product(product(scores, record.gradient_k), of_query_weights);
  if constexpr (C::next_orders) {
    if (shared.queries != 0) {
      const X together = product(scaled(record.apart_v, record.score_scale),
                                 uniform(gradient, Alike<double>{0, 0, shared.queries, 0}));
      const X of_weights = product(together, factors.query);
      key_scores = sum(key_scores, product(together, factors.slope));
      key_weight_scores = sum(key_weight_scores, of_weights);
      own = sum(own, product(of_weights, record.gradient_k));
    }
    if (shared.words.same > 0 && shared.words.same < 1) {
      const WordScores<X> more =
          word_scores(record, gradient, shared.words, shared.queries, own_score);
      query_scores = sum(query_scores, more.query);
      key_scores = sum(key_scores, more.key);
      key_weight_scores = sum(key_weight_scores, more.key_weight);
      own = sum(own, more.own);
    }
  }
  if constexpr (C::next_orders) {
    if (record.biases) out.biases = gradient_of_biases(layer, record, gradient, aligned);
  }
  if (residual != nullptr) {
    const N scale = calculus.scale(layer);
    const N scale2 = record.turned_scale == 1
                         ? N(scale * scale)
                         : N(scale * scale * calculus.real(record.turned_scale));
    const std::optional<ScoreGradient<X>> above = std::move(*residual);
    const ScoreGradient<X> from_mix{query_scores, with_cross(key_scores, query_scores),
                                    product(scores, of_query_weights)};
    *residual = with_gradient(above, scaled(from_mix, N(1 / scale2)));
    if (above) {
      const ScoreGradient<X> more = scaled(*above, scale2);
      query_scores = sum(query_scores, more.query);
      key_scores = sum(key_scores, product(record.query_cosine, more.key));
      key_weight_scores = sum(key_weight_scores, product(record.query_cosine, more.query));
      own = sum(own, product(more.query_weight, record.gradient_k));
    }
  }
  out.q = product(record.gradient_k, query_scores);
  if constexpr (C::next_orders) {
    out.equal_queries = shared.words.equal;
    const double all = average(query_scores).second;
    if (record.words && all > 0) {
      const double along = own_score > 0 ? average(along_mix(factors.feedback.query)).second : 0;
      out.equal_queries = equal_with(shared.words.equal, all - along, along) *
                          average(slopes_as_later(query_scores, factors.mix)).cross / all;
    }
  }
  const auto at_keys = [&](const X& of_scores) {
    const X same = product(record.queries, of_scores);
    X one_key = same, two_keys = scaled(same, calculus.real(-record.slopes_together));
    if (record.rotation) {
      const X& cosine = record.rotation->cosine.same;
      one_key = product(same, cosine);
      two_keys = product(same, sum(record.rotation->equal, scaled(cosine, N(-1))));
    }
    return scores_to_keys(layer, record, same, one_key, two_keys);
  };
  out.k = at_keys(key_scores);
  const X kept = layer.dropout > 0
                     ? scale_second(gradient, N(1 / (1 - calculus.real(layer.dropout))))
                     : gradient;
  const X others = combine(gradient, factors.value,
                           [](const N& g, const N& share) { return N(g * (1 - share)); });
  const N group = calculus.size(layer.heads, "heads") / calculus.size(layer.kv_heads, "kv_heads");
  const auto to_values = [&](double weights) {
    const auto with_shared = [&](const X& x, double sign) {
      if constexpr (C::next_orders)
        return sum(x, uniform(x, Alike<double>{0, 0, sign * weights, 0}));
      return x;
    };
    X v = to_keys(with_shared(product(kept, factors.value), 1), with_shared(others, -1),
                  record.source, record.counts);
    v.between = between_to_keys(gradient, record.source, record.counts);
    return scaled(v, group);
  };
  // Overlaps of the mix are of words; a key has its share of its word's weight.
  double weights = shared.weights;
  if constexpr (C::next_orders) {
    if (record.words) {
      // Of two rows of one word, by the keys of the later one.
      const auto apart = [](const X& of) {
        return average(as_later(of)).cross - average(of).cross;
      };
      const double of_words = apart(factors.mix), of_keys = apart(factors.value);
      if (of_words > 0) weights *= std::clamp(of_keys / of_words, 0.0, 1.0);
    }
  }
  out.v = to_values(weights);
  bool is_first_order = true;
  if constexpr (C::next_orders) {
    // The first order in what overlaps share cannot take more than there is: then it is left out,
    // and its size is the truncation below.
    is_first_order = values_of(calculus, out.v).second >= 0;
    if (!is_first_order) out.v = to_values(0);
    if (group > 1 && aligned != 0)
      out.v = sum(out.v, scaled(between_heads(calculus, layer, record),
                                aligned * aligned * group * (group - 1)));
    out.v = with_positive_second(calculus, std::move(out.v));
  }

  N of_key_weight =
      pair_sum(product(product(record.queries, key_weight_scores), record.gradient_source),
               record.counts.queries, record.batch);
  X of_weight = out.q;
  if (layer.qk_norm) {
    of_weight = product(out.q, record.query_weight_norm);
    own = product(own, record.query_weight_norm);
    out.q = product(out.q, record.query_norm);
    // Gradients at normed keys add up to 0, and no longer where each is divided by its key's length
    // and has lost what lies along it: what all tokens have in common meets the rest. To first
    // order that is linear in what keys differ by, as sums over keys of x_s g_s are.
    if constexpr (C::next_orders) {
      const X all = record.rotation ? out.k : at_keys(key_weight_scores);
      out.k_sums = product(all, record.key_norm);
      // The factors at keys are without what lies along a key, (1 - w/d_h)/(1 - 1/d_h) of A: of the
      // sum over all pairs w/d_h is left, where a norm of each by itself has 1/d_h.
      const X more = product(
          scores, sum(product(record.query_cosine, factors.score), scaled(factors.key, N(-1))));
      if (has_unit_heads(layer) && record.tilt == 0 && !record.rotation)
        out.k_sum_along =
            group * average(record.key_norm).second *
            pair_sum(product(more, record.queries), record.counts.queries, record.batch);
      // Of keys that share c it is of both orders in c.
      out.k_sum_omitted =
          std::fabs(out.k_sum_along) * std::clamp(1 - average(record.apart_k).second, 0.0, 1.0);
      of_key_weight += token_sum(
          record.source, sum(*out.k_sums, scaled(product(all, of_sizes(record.key_norm)), N(-1))),
          record.counts.keys, record.batch);
    }
    out.k = product(out.k, record.key_norm);
  }
  // A norm of one feature leaves its sign.
  const auto leaves_sign = [&](std::int64_t heads) {
    return layer.qk_norm && layer.qk_norm_eps == 0 && layer.head_width == 1 &&
           (heads == 1 || !layer.qk_norm_all);
  };
  if (leaves_sign(layer.heads)) {
    out.q = of_weight = scaled(out.q, N(0));
    own = scaled(own, N(0));
  }
  if (leaves_sign(layer.kv_heads)) {
    out.k = scaled(out.k, N(0));
    out.k_sums.reset();
    out.k_sum_along = N(0);
    out.k_sum_omitted = 0;
    of_key_weight = N(0);
  }
  if (out.k_sums) out.k_sums = scaled(*out.k_sums, group);
  out.k = with_positive_second(calculus, scaled(out.k, group));
  const N& queries = record.counts.queries;
  const N of_query_weight = token_sum(record.input, of_weight, queries, record.batch) +
                            token_sum(geometric_seconds(record.input), own, queries, record.batch);
  out.q_weight = weight_scale(calculus, layer.q) * calculus.positive(of_query_weight);
  out.k_weight = weight_scale(calculus, layer.k) * calculus.positive(of_key_weight) * group;
  const ValueWeight<N> of_value =
      value_weight(calculus, layer, record, gradient, out.v, shared.weights,
                   {record.source, record.apart_source, record.shared_source, 1});
  if (record.first) {
    const FirstRecord<X>& first = *record.first;
    const ValueShares<N> shares = value_shares(calculus, layer);
    const ValueWeight<N> of_first =
        value_weight(calculus, layer, record, gradient, out.v, shared.weights,
                     {first.source, first.apart, first.shared, first.overlap});
    FirstGradient<X> part;
    part.x = scaled(out.v, shares.first);
    part.weight = shares.first * calculus.positive(of_first.all);
    out.first = std::move(part);
    out.v = scaled(out.v, shares.own);
  }
  const N of_value_weight = value_shares(calculus, layer).own * of_value.all;
  out.v_weight = weight_scale(calculus, layer.v) * calculus.positive(of_value_weight);

  out.input = linear_backward(calculus, layer.q, out.q);
  const N of_queries = average(out.input).second;
  const X of_keys = linear_backward(calculus, layer.k, out.k),
          of_values = linear_backward(calculus, layer.v, out.v);
  if (!layer.over_memory) out.input = sum(out.input, of_keys);
  const N through_scores = average(out.input).second;
  X& source = layer.over_memory ? out.memory : out.input;
  source = sum(layer.over_memory ? of_keys : out.input, of_values);
  out.q_truncation = out.k_truncation = record.truncation;
  if constexpr (C::next_orders) {
    feedback_to_source(calculus, layer, record, aligned, out);
    const double total = average(key_scores).second;
    if (own_score > 0 && total > 0)
      out.k_truncation +=
          average(along_mix(factors.feedback.key)).second / total * record.feedback_truncation;
    out.q_truncation = out.k_truncation;
  }
  out.truncation = {record.value_truncation, record.value_truncation};
  if constexpr (C::next_orders) {
    if (layer.over_memory) {
      // Scores' gradients reach the memory through its keys, and the input through queries alone.
      const Alike<double> to = values_of(calculus, out.memory), at = values_of(calculus, of_keys);
      const double cross = to.second > 0 ? std::min(1.0, std::fabs(at.cross) / to.second) : 0;
      out.key_share = to.second > 0 ? std::min(1.0, at.second / to.second) : 0;
      out.memory_truncation = {record.value_truncation + out.key_share * out.k_truncation,
                               record.value_truncation + cross * out.k_truncation};
      out.truncation = {};
    }
    const double all = values_of(calculus, out.input).second;
    if (all > 0) out.through_queries = std::min(1.0, calculus.value(of_queries) / all);
    if (record.words) {
      const double keys = values_of(calculus, of_keys).second,
                   values = values_of(calculus, of_values).second;
      const auto share = [&](const X& of_words, const X& of_tokens) {
        return equal_share(of_words, of_tokens, record.same_keys, record.counts);
      };
      out.equal_values = share(factors.mix, factors.value) * (1 - layer.dropout);
      if (keys + values > 0)
        out.equal_keys = (keys * share(factors.key_weight, factors.key) * (1 - layer.dropout) +
                          values * out.equal_values) /
                         (keys + values);
      if (record.counts.causal) {
        out.equal_keys *= later_share(sum(of_keys, of_values));
        out.equal_values *= later_share(of_values);
      }
    }
    if (all > 0) out.truncation.second += calculus.value(through_scores) / all * out.k_truncation;
  }
  out.v_truncation = record.value_truncation;
  if constexpr (C::next_orders) {
    // What overlaps share stands for all there is where weights alone leave nothing of a gradient
    // that adds up to 0 over the queries. Its next order is not known; of random models none was
    // off by more than a quarter of it.
    const double all = values_of(calculus, out.v).second;
    const double made =
        value_shares(calculus, layer).own *
        calculus.value(record.counts.queries / record.counts.keys * (record.counts.queries - 1)) *
        std::fabs(weights) * calculus.value(group);
    if (all > 0) out.v_truncation += std::min(no_mean, (is_first_order ? 0.25 : 1) * made / all);
  }
  if constexpr (C::next_orders) {
    const double all = calculus.value(of_value.all), own_part = calculus.value(of_value.own);
    if (all > 0) out.v_weight_truncation = std::fabs(own_part) / all * record.values_truncation;
  }
  return out;
}

}  // namespace scalecalc::moments
