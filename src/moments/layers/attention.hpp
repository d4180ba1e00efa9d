#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "moments/along_mean.hpp"
#include "moments/attention_backward.hpp"
#include "moments/attention_covariance.hpp"
#include "moments/attention_fluctuations.hpp"
#include "moments/attention_kept.hpp"
#include "moments/attention_level.hpp"
#include "moments/attention_memory.hpp"
#include "moments/attention_pairs.hpp"
#include "moments/first_gradient.hpp"
#include "moments/layers/linear.hpp"
#include "moments/layers/norm.hpp"
#include "moments/layers/residual.hpp"

/// Queries, keys, values, their mix, the norm on it and the projection: the rule is in
/// attention_rule.hpp, back in attention_backward.hpp.
namespace scalecalc::moments {

/// Whether the heads' mixes, of which a layernorm takes the mean, are those of so few values that
/// E 1/s^2 of what is left does not exist.
inline bool norms_few_values(const Attention& layer) {
  constexpr std::int64_t fewest = 4;
  return layer.norm && layer.norm->kind == NormKind::layernorm &&
         layer.kv_heads * layer.head_width < fewest;
}

/// A token with one key has its value in every head: nothing is left of one feature.
template <class C>
void omit_shared_values(C& calculus, const Attention& layer, std::int64_t tokens) {
  if (!norms_few_values(layer) || !layer.causal || layer.kv_heads * layer.head_width > 1) return;
  const double first = 1 / static_cast<double>(tokens);
  calculus.omit(first, first);
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Attention& layer, Signal<X> x) {
  C& calculus = pass.calculus();
  calculus.enter(layer.path);
  settle(x);
  const bool reads_first = layer.value_residual > 0;
  if (reads_first && !pass.first_values())
    throw Error(ErrorKind::input, "no attention before gives its values", layer.path,
                "leave value_residual out, or let one give them");
  auto made = attention_forward(calculus, layer, x, layer.over_memory ? pass.memory() : nullptr,
                                pass.counts(x), layer.residual_attention ? &pass.scores() : nullptr,
                                reads_first ? &*pass.first_values() : nullptr);
  if (layer.gives_values)
    pass.first_values() = FirstValues<X>{
        made.v, x, calculus.size(layer.v.fan_in, "fan_in") * calculus.variance(layer.v)};
  Kept<Attention, C, X> kept;
  kept.spread = x.spread;
  if (layer.over_memory) kept.memory_spread = pass.memory()->spread;
  kept.truncation = with_mask_sizes(x);
  const auto places = [&](const Linear& linear, Signal<X>& y, std::int64_t tokens) {
    const std::size_t site = pass.site(linear.path, "linear", y);
    return Places{site, note_weights(pass, linear), tokens};
  };
  kept.q = places(layer.q, made.q, x.tokens);
  kept.k = places(layer.k, made.k, made.k.tokens);
  kept.v = places(layer.v, made.v, made.v.tokens);
  if (layer.relative.is_own) {
    const double std = layer.relative.std;
    pass.set_bias_table(pass.parameter(layer.path, ".relative_bias", layer.relative.buckets,
                                       layer.heads, std * std));
  }
  kept.biases = pass.bias_table();
  kept.mix = {pass.site(layer.path, "attention", made.mix, ".mix"), 0, x.tokens};
  kept.record = std::move(made.record);
  if constexpr (C::next_orders) {
    const Signal<X>& source = layer.over_memory ? *pass.memory() : x;
    if (kept.record.words) kept.same_words = source.repeats;
    if (kept.record.words && has_words(x)) kept.same_queries = x.repeats;
    kept.overlaps = overlap_deviation(calculus, source);
    kept.overlap = relative_overlap(source);
    kept.weights = overlap_deviation(calculus, made.mix);
    const double apart = average(kept.record.apart_v).cross;
    kept.weights.coherent = apart > 0 ? kept.weights.coherent / apart : 0;
    kept.weights.noise = apart > 0 ? kept.weights.noise / apart : 0;
    kept.queries = overlap_deviation(calculus, x);
    if (kept.queries.coherent > 0)
      kept.rise = calculus.value(made.mix.overlap.coherent) / kept.queries.coherent;
    const double second = values_of(calculus, x.x).second;
    const double share = second > 0 ? input_share(calculus, layer.q, x.x) / second : 0;
    kept.queries.coherent *= share;
    kept.queries.noise *= share;
  }
  pass.template keep<Attention>(std::move(kept));
  Signal<X> y = std::move(made.mix);
  if constexpr (C::next_orders) {
    if (layer.norm) omit_shared_values(calculus, layer, x.tokens);
  }
  if (layer.norm) return forward_step(pass, layer.o, forward_step(pass, *layer.norm, std::move(y)));
  pass.calculus().enter(layer.o.path);
  settle(y);
  OverlapDeviation mixes;
  if constexpr (C::next_orders)
    mixes = overlap_of_mixes(calculus, layer, made.values ? *made.values : made.v, y);
  return through_matrix(pass, layer.o, "linear", std::move(y), &mixes);
}

/// What the rules make of D is that of a typical draw: E D^k is e^(k^2 Var ln D/2) of its power.
template <class C, class X>
void average_distances(C& calculus, const Kept<Attention, C, X>& kept, AttentionBackward<X>& made) {
  using N = typename C::Number;
  const NormVariance& spread = kept.spread;
  const double power = distance_power(kept.record);
  const N more = N(std::exp(power * power / 2 * spread.distance_variance));
  made.q = scaled(made.q, more);
  made.k = scaled(made.k, more);
  made.q_weight = made.q_weight * more;
  made.k_weight = made.k_weight * more;
  calculus.assume("attention", "tokens differ by as much in every draw", "Var ln D",
                  spread.distance_variance, 0.1);
}

/// Relative variance over draws of one layer's part of the gradient of the scores' biases, of its
/// logarithm: that of g and D, and of as few sums of Gaussian numbers as heads and buckets make,
/// the trigamma function of 1/their relative variance.
template <class C, class X>
double variance_of_biases(const BackwardPass<C, X>& pass, const Attention& layer,
                          const Kept<Attention, C, X>& kept, const Gradient<X>& g) {
  const Biases<X>& biases = *kept.record.biases;
  const double few = biases.overlap.head_variance / static_cast<double>(layer.heads);
  const X factor = product(kept.record.factors.score, biases.gradient);
  return variance_of_product(g.log_covariance, values_of(pass.calculus(), factor),
                             values_of(pass.calculus(), g.x), pass.counts(kept.mix.tokens)) +
         kept.spread.distance_variance + few + few * few / 2 + few * few * few / 6;
}

/// Adds one layer's part to the gradient of the table that the attentions of a stack share: parts
/// of two layers come through values of their own, so that seconds add up, and vary together.
template <class C, class X>
void add_to_biases(BackwardPass<C, X>& pass, const Attention& layer,
                   const Kept<Attention, C, X>& kept, const Gradient<X>& g,
                   const AttentionBackward<X>& made) {
  auto& record = pass.parameter(kept.biases);
  const ParameterRecord<double> before = record;
  record.gradient = before.gradient + made.biases;
  const double share = record.gradient > 0 ? made.biases / record.gradient : 1;
  const auto mean = [share](double own, double others) {
    return share * own + (1 - share) * others;
  };
  const double deviation =
      mean(std::sqrt(variance_of_biases(pass, layer, kept, g)), std::sqrt(before.spread));
  record.spread = deviation * deviation;
  record.error = mean(g.error.second, before.error);
  record.truncation = mean(g.truncation.second + kept.record.bias_truncation, before.truncation);
}

/// Of the input x of q, k or v, sum_t x_t g_t of one feature is sum_j W_j dL/dW_j over the outputs:
/// what dL/dW has of gradients that depend on x is in it too (docs/theory/layers.md#norm-gain).
template <class C, class X>
double beyond_pairs(const C& calculus, const Linear& linear, const X& input, const X& gradient,
                    double weight, double tokens, double batch) {
  const double scale = weight_scale(calculus, linear);
  if (!(scale > 0)) return 0;
  return static_cast<double>(linear.fan_out) * calculus.variance(linear) *
         (weight / scale - token_sum(input, gradient, tokens, batch));
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Attention& layer, Gradient<X> g) {
  using N = typename C::Number;
  C& calculus = pass.calculus();
  g = backward_step(pass, layer.o, std::move(g));
  if (layer.norm) g = backward_step(pass, *layer.norm, std::move(g));
  if constexpr (C::next_orders) {
    if (norms_few_values(layer)) {
      g.truncation.second += no_mean;
      g.truncation.cross += no_mean;
    }
  }
  const auto& kept = pass.template take<Attention>();
  pass.note(kept.mix.site, g);
  if constexpr (C::next_orders) {
    if (layer.over_memory && !g.along_tokens && g.aligned != 0 && !g.along_mean)
      g.along_tokens = uniform(g.x, Alike<double>{0, calculus.value(g.aligned), 0, 0});
    if (g.along_tokens) g.aligned = average(*g.along_tokens).second;
  }
  const OverlapSlope& slope = g.slopes.within;
  const N aligned = g.aligned * calculus.real(g.along_mean.weight - g.along_mean.less);
  auto made = attention_backward(
      calculus, layer, kept.record, g.x, aligned,
      {shared_weights(slope, kept.weights, values_of(calculus, kept.record.apart_v).cross,
                      values_of(calculus, g.x).second),
       slope.own * kept.rise * kept.queries.noise + slope.stream * kept.queries.coherent,
       WordPairs{kept.same_queries, g.equal_words}},
      layer.residual_attention ? &pass.scores() : nullptr);
  if constexpr (C::next_orders) {
    if (g.along_tokens) tokens_to_source(calculus, layer, kept.record, *g.along_tokens, made);
    const OverlapSlope& other = g.slopes.between;
    const double further = kept.queries.apart,
                 shared = other.own * kept.rise * kept.queries.noise * further * further +
                          other.stream * kept.queries.coherent * further;
    add_between_sequences(calculus, layer, kept.record, kept.overlap,
                          values_of(calculus, g.x).between, shared, made);
  }
  if (layer.gives_values) take_first(pass, layer, kept, g, aligned, made);
  AttentionCovariances covariances;
  NormDirections directions;
  double of_queries = 0, of_keys = 0;
  if constexpr (C::next_orders) {
    const AttentionRecord<C, X>& record = kept.record;
    of_queries = beyond_pairs(calculus, layer.q, record.input, made.q, made.q_weight,
                              record.counts.queries, record.batch);
    of_keys = beyond_pairs(calculus, layer.k, record.source, made.k, made.k_weight,
                           record.counts.keys, record.batch);
    // What values have along the mix is Gradient::aligned.
    if (g.aligned == 0)
      of_keys += beyond_pairs(calculus, layer.v, record.source, made.v, made.v_weight,
                              record.counts.keys, record.batch);
    if (layer.over_memory) made.memory_beyond_pairs = of_keys;
    directions.radial = level_of_attention(calculus, layer, kept.record, g.directions, made);
    if (!layer.over_memory) average_distances(calculus, kept, made);
    covariances = attention_covariances(pass, layer, kept, g, made);
  }
  if (layer.over_memory) add_to_memory(pass, layer, kept, g, made, covariances.memory);
  if (kept.record.first) add_to_first(pass, layer, kept, g, aligned, made, covariances.v);
  if constexpr (C::next_orders) {
    const AttentionRecord<C, X>& record = kept.record;
    const double more = fluctuation_of_values(
        calculus, layer, record, kept.overlaps, g, pass.counts(kept.mix.tokens),
        {record.source, record.apart_source, record.shared_source, 1});
    made.v_weight =
        calculus.positive(N(made.v_weight + weight_scale(calculus, layer.v) *
                                                value_shares(calculus, layer).own * more));
  }
  const auto part = [&](const Linear& linear, const Places& at, X&& x, const N& gradient,
                        double truncation, const LogCovariance& own_covariance) {
    Gradient<X> own{std::move(x), g.spread, g.error, g.truncation};
    own.log_covariance = own_covariance;
    own.truncation.second += truncation;
    own.truncation.cross += truncation;
    pass.note(at.site, own);
    const bool asks = &linear == &layer.q;
    const NormVariance& spread = asks ? kept.spread : kept.source_spread();
    fill(pass, at.parameter, gradient, own, spread);
    fill_product_variance(pass, at.parameter, own, asks ? kept.record.input : kept.record.source,
                          spread, at.tokens);
    pass.parameter(at.parameter).truncation += kept.truncation.second;
    if constexpr (C::next_orders) {
      const X& input = asks ? kept.record.input : kept.record.source;
      const Counts over = pass.counts(at.tokens);
      fill_cancelled(pass.parameter(at.parameter),
                     calculus.value(weight_scale(calculus, linear)) * over.samples() *
                         error_of_terms(calculus, input, kept.truncation, own, over).error);
    }
    if (!linear.bias) return;
    // A bias of all keys alike drops out of softmax.
    const bool drops =
        &linear == &layer.k && !layer.qk_norm && !kept.record.rotation && layer.softcap == 0;
    const X& sums = &linear == &layer.k && made.k_sums ? *made.k_sums : own.x;
    const N along = &linear == &layer.k ? made.k_sum_along : N(0);
    const N bias = drops ? N(0) : calculus.positive(N(bias_of(pass, sums, at.tokens) + along));
    fill(pass, at.parameter + 1, bias, own, {});
    if constexpr (C::next_orders) {
      if (&linear == &layer.k && kept.record.tilt > 0 && bias > 0)
        pass.parameter(at.parameter + 1).truncation +=
            kept.record.tilt / static_cast<double>(layer.head_width) *
            pass.counts(at.tokens).samples() * average(own.x).second / bias;
      if (&linear == &layer.k && bias > 0)
        pass.parameter(at.parameter + 1).truncation += made.k_sum_omitted / bias;
    }
    fill_sum_variance(pass, at.parameter + 1, own);
  };
  if constexpr (C::next_orders) {
    if (kept.record.biases) add_to_biases(pass, layer, kept, g, made);
  }
  // Scores, and what comes back from them, go as |x|^2.
  const RelativeError above = g.truncation;
  if constexpr (C::next_orders) add_size_error(g, kept.spread, 4, layer.q.fan_in);
  part(layer.q, kept.q, std::move(made.q), made.q_weight, made.q_truncation, covariances.q);
  part(layer.k, kept.k, std::move(made.k), made.k_weight, made.k_truncation, covariances.k);
  const auto with_first = [&](double share) {
    g.truncation = made.from_first ? mixed_error(above, made.from_first->truncation, share) : above;
    if constexpr (C::next_orders) add_size_error(g, kept.spread, 2, layer.q.fan_in);
  };
  with_first(made.first_of_values);
  part(layer.v, kept.v, std::move(made.v), made.v_weight, made.v_truncation, covariances.v);
  with_first(made.first_of_input);
  pass.parameter(kept.v.parameter).truncation += made.v_weight_truncation;
  g.log_covariance = covariances.input;
  g.x = std::move(made.input);
  // One weight of T, which each token's overlap has of a sum over keys, is left out.
  g.slopes = {};
  g.uneven = 0;
  g.beyond_pairs = of_queries + (layer.over_memory ? 0 : of_keys);
  g.follows_size = 0;
  g.slope_scatter = 1;
  g.directions = directions;
  g.kinds = {};
  // Equal keys get the same from every query.
  g.equal_words =
      kept.record.words && !layer.over_memory
          ? made.equal_keys + made.through_queries * (made.equal_queries - made.equal_keys)
          : made.through_queries * made.equal_queries;
  if constexpr (C::next_orders) {
    if (!layer.over_memory) {
      g.slopes.within.stream = slope_of_words(kept, g);
      g.slopes.within =
          g.slopes.within + slope_of_scores(kept.record, kept.overlaps, g.beyond_pairs);
    }
  }
  g.aligned = layer.over_memory ? N(0) : made.aligned;
  g.along_tokens.reset();
  if (!layer.over_memory) g.along_tokens = std::move(made.along_tokens);
  if constexpr (C::next_orders) {
    // Weights that are much alike give every token its sequence's mean.
    if (layer.over_memory || g.aligned == 0) g.along_mean = {};
    g.along_mean.less = 0;
    g.along_mean.weight = 1;
    if (g.along_mean) g.aligned /= share_along(g.along_mean, kept.record.source);
  }
  g.truncation.second += made.truncation.second;
  g.truncation.cross += made.truncation.cross;
  return g;
}

}  // namespace scalecalc::moments
