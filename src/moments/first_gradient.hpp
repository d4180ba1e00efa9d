#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "moments/attention_fluctuations.hpp"
#include "moments/attention_kept.hpp"
#include "moments/sums.hpp"

/// What attention gives back to the values of the first block that it reads, and what these make of
/// it (docs/theory/attention.md#value-residual).
namespace scalecalc::moments {

/// Of a gradient at the mix along it, the part along u: a s^2 P^T P u, the same sign in all blocks.
template <class X>
struct AlongFirst {
  double gain = 0;                  ///< a s^2, of all heads that share their values
  double aligned = 0;               ///< of a token's own u
  std::optional<X> of_one{};        ///< E (P^T P u)_t.(P^T P u)_r, of heads averaged
  std::optional<X> of_two{};        ///< of two blocks
  std::optional<X> along_tokens{};  ///< K, of a gradient along the mixes of all tokens
};
template <class C, class X>
AlongFirst<X> along_first(const Attention& layer, const AttentionRecord<C, X>& record, double share,
                          double aligned, const Gradient<X>& g, const X& u, const X& apart,
                          const X& shared) {
  AlongFirst<X> made;
  const double group = static_cast<double>(layer.heads) / static_cast<double>(layer.kv_heads);
  const double m = average(u).second;
  if (g.along_tokens) {
    made.along_tokens =
        scaled(tokens_to_keys(*g.along_tokens, record.factors.value, record.source, record.counts),
               share * group);
    if (m > 0)
      made.aligned =
          average(over_tokens(*made.along_tokens, without_mean(u), record.counts.keys)).second / m;
    return made;
  }
  made.gain = share * aligned * group;
  if (made.gain == 0) return made;
  const auto back = [&](const AlignedFeedback<X>& feedback) {
    return fed_back(feedback, shared, apart, record.input, record.source, record.counts);
  };
  made.of_one = back(record.factors.feedback);
  made.of_two = back(feedback_of_two(record.factors, layer.heads));
  const X along = sum(shared, product(apart, record.factors.value));
  if (m > 0) made.aligned = made.gain * average(along).second / m;
  return made;
}

/// 2 E y_t.y'_r of what both have along u.
template <class X>
std::optional<X> along_both_blocks(const FirstGradient<X>& all, const AlongFirst<X>& one,
                                   const X& u, const typename X::Number& tokens) {
  if (all.along_tokens && one.along_tokens) {
    const X both = along_both(*all.along_tokens, *one.along_tokens, without_mean(u), tokens);
    return sum(both, transposed(both));
  }
  if (one.of_two && all.gain != 0) return scaled(*one.of_two, 2 * all.gain * one.gain);
  return std::nullopt;
}

/// `both`: what two blocks have in common along u; `source`: what u is made of.
template <class C, class X>
void add_first(const C& calculus, const Attention& layer, FirstGradient<X>& all,
               const FirstGradient<X>& part, const std::optional<X>& both, const X& source,
               const KeyCounts<double>& keys, const Counts& counts) {
  const Alike<double> left = values_of(calculus, all.x), right = values_of(calculus, part.x);
  const double total = left.second + right.second, share = total > 0 ? right.second / total : 0;
  all.logs = covariance_of_sum(all.last, all.logs, part.logs, left, right,
                               static_cast<double>(layer.v.fan_out), counts);
  all.logs.propagator.setIdentity();
  all.last = part.last;
  all.error = mixed_error(all.error, part.error, share);
  all.truncation = mixed_error(all.truncation, part.truncation, share);
  all.equal_words = (1 - share) * all.equal_words + share * part.equal_words;
  all.x = sum(all.x, part.x);
  all.weight += part.weight;
  if (part.along) all.along = all.along ? sum(*all.along, *part.along) : *part.along;
  if (both) {
    all.x = with_positive_second(calculus, sum(all.x, *both));
    all.weight = calculus.positive(all.weight + token_sum(source, *both, keys.keys, counts.batch));
    all.along = all.along ? sum(*all.along, *both) : *both;
  }
  if (all.along_tokens && part.along_tokens)
    all.along_tokens = sum(*all.along_tokens, *part.along_tokens);
  else if (part.aligned != 0 || part.along_tokens)
    all.along_tokens.reset();
  all.gain += part.gain;
  all.aligned += part.aligned;
}

/// Adds what the mix of a block gives the first values: `logs` of what comes to its values.
template <class C, class X>
void add_to_first(BackwardPass<C, X>& pass, const Attention& layer,
                  const Kept<Attention, C, X>& kept, const Gradient<X>& g,
                  const typename C::Number& aligned, const AttentionBackward<X>& made,
                  const LogCovariance& logs) {
  const AttentionRecord<C, X>& record = kept.record;
  const FirstRecord<X>& first = *record.first;
  FirstGradient<X> part;
  part.x = made.first->x;
  part.weight = made.first->weight;
  std::optional<FirstGradient<X>>& all = pass.first_values();
  AlongFirst<X> along;
  if constexpr (C::next_orders) {
    C& calculus = pass.calculus();
    const Counts counts = pass.counts(kept.mix.tokens);
    const double share = value_shares(calculus, layer).first;
    part.weight = calculus.positive(
        part.weight +
        share * fluctuation_of_values(calculus, layer, record, first.overlaps, g, counts,
                                      {first.source, first.apart, first.shared, first.overlap}));
    part.error = g.error;
    part.truncation = g.truncation;
    part.truncation.second += made.v_truncation;
    part.truncation.cross += made.v_truncation;
    part.logs = logs;
    part.last = g.log_covariance;
    part.equal_words = made.equal_values;
    along = along_first(layer, record, share, aligned, g, first.u, first.apart_u, first.shared_u);
    part.gain = along.gain;
    part.aligned = along.aligned;
    part.along_tokens = along.along_tokens;
    if (along.of_one) part.along = scaled(*along.of_one, along.gain * along.gain);
    for (LogCovariance* each : {&part.logs, &part.last}) each->propagator.setIdentity();
    if (all) {
      const auto both = along_both_blocks(*all, along, first.u, record.counts.keys);
      add_first(calculus, layer, *all, part, both, first.source, record.counts, counts);
      return;
    }
  }
  if (!all) {
    all = std::move(part);
    return;
  }
  all->x = sum(all->x, part.x);
  all->weight = all->weight + part.weight;
}

/// At the first block, whose own part is in `made`.
template <class C, class X>
void take_first(BackwardPass<C, X>& pass, const Attention& layer, const Kept<Attention, C, X>& kept,
                const Gradient<X>& g, const typename C::Number& aligned,
                AttentionBackward<X>& made) {
  std::optional<FirstGradient<X>> more = std::exchange(pass.first_values(), std::nullopt);
  if (!more) return;
  C& calculus = pass.calculus();
  const AttentionRecord<C, X>& record = kept.record;
  X given = more->x;
  made.v_weight = made.v_weight + weight_scale(calculus, layer.v) * more->weight;
  if constexpr (C::next_orders) {
    const double gain = gain_of(calculus, layer.v),
                 back = static_cast<double>(layer.v.fan_out) * calculus.variance(layer.v);
    const auto by_values = [&](const X& x) { return scaled(x, gain); };
    const AlongFirst<X> own =
        along_first(layer, record, 1, aligned, g, by_values(record.source),
                    by_values(record.apart_source), by_values(record.shared_source));
    const auto both = along_both_blocks(*more, own, by_values(record.source), record.counts.keys);
    if (both) {
      given = sum(given, *both);
      made.v_weight = calculus.positive(
          made.v_weight + weight_scale(calculus, layer.v) *
                              token_sum(record.source, *both, record.counts.keys, record.batch));
    }
    // Of these W^T W brings back along x what it makes of u = W x.
    std::optional<X> along = more->along;
    if (more->along_tokens)
      along = along_both(*more->along_tokens, *more->along_tokens,
                         without_mean(by_values(record.source)), record.counts.keys);
    if (both) along = along ? sum(*along, *both) : *both;
    if (along && gain > 0) made.input = sum(made.input, scaled(*along, back * back / gain));
    made.aligned += back * more->aligned;
    if (made.along_tokens && more->along_tokens)
      made.along_tokens = sum(*made.along_tokens, scaled(*more->along_tokens, back));
    else if (more->aligned != 0)
      made.along_tokens.reset();
  }
  const X to_input = linear_backward(calculus, layer.v, given);
  if constexpr (C::next_orders) {
    const double before = values_of(calculus, made.input).second,
                 added = values_of(calculus, to_input).second, all = before + added;
    const double of_keys = before * (1 - made.through_queries);
    if (of_keys + added > 0)
      made.equal_keys = (of_keys * made.equal_keys + added * more->equal_words) / (of_keys + added);
    if (all > 0) {
      made.through_queries *= before / all;
      made.first_of_input = added / all;
    }
  }
  if constexpr (C::next_orders) {
    const double own = values_of(calculus, made.v).second,
                 added = std::max(0.0, values_of(calculus, given).second);
    if (own + added > 0) made.first_of_values = added / (own + added);
  }
  made.own_v = std::move(made.v);
  made.v = sum(*made.own_v, given);
  made.input = with_positive_second(calculus, sum(made.input, to_input));
  made.from_first = std::move(*more);
}

}  // namespace scalecalc::moments
