#pragma once

#include "moments/attention_kept.hpp"
#include "moments/log_covariance.hpp"

/// How far sizes of gradients vary over draws at queries, keys and values.
namespace scalecalc::moments {

/// At the queries, keys and values, and of what comes back through them.
struct AttentionCovariances {
  LogCovariance q, k, v, input, memory;
};
template <class C, class X>
AttentionCovariances attention_covariances(const BackwardPass<C, X>& pass, const Attention& layer,
                                           const Kept<Attention, C, X>& kept, const Gradient<X>& g,
                                           const AttentionBackward<X>& made) {
  const C& calculus = pass.calculus();
  AttentionCovariances out;
  const Factors<X>& factors = kept.record.factors;
  const auto shares = [&](const X& of) {
    const Alike<double> one = values_of(calculus, of);
    return PairShares{one.second, one.cross};
  };
  const Alike<double> from = values_of(calculus, g.x);
  const Counts over = pass.counts(kept.mix.tokens);
  const Alike<double> rows = values_of(calculus, kept.record.input);
  const double cosine = rows.second > 0 ? rows.cross / rows.second : 1;
  LogCovariance start = g.log_covariance;
  start.propagator.setIdentity();
  out.q = covariance_to_queries(start, from, shares(factors.query), over);
  out.k = covariance_to_keys(start, from, shares(factors.key), over);
  out.v = covariance_to_keys(start, from, shares(factors.value), over);
  if (made.from_first) {
    const FirstGradient<X>& more = *made.from_first;
    LogCovariance own = out.v;
    own.propagator.setIdentity();
    const LogCovariance all = covariance_of_sum(
        more.last, more.logs, own, values_of(calculus, more.x), values_of(calculus, *made.own_v),
        static_cast<double>(layer.v.fan_out), over);
    out.v.value = all.value;
  }
  // Gradients into scores are of D D', and of a few rows where a softmax is sharp: the same for
  // queries and keys.
  const double of_rows = average_of_rows(layer, kept.record.rows_variance, cosine, over);
  const double power = distance_power(kept.record);
  double of_scores =
      of_rows + (layer.over_memory ? 0 : power * power * kept.spread.distance_variance);
  if (kept.record.rotation)
    of_scores += average(kept.record.rotation->lengths).second /
                 static_cast<double>(layer.kv_heads * layer.head_width);
  Alike<double> total = values_of(calculus, linear_backward(calculus, layer.q, made.q));
  out.input = covariance_through_weights(pass, layer.q, made.q, kept.mix.tokens, out.q);
  const auto add = [&](const Linear& linear, const X& x, const LogCovariance& logs) {
    const Alike<double> more = values_of(calculus, linear_backward(calculus, linear, x));
    out.input = covariance_of_sum(
        start, out.input, covariance_through_weights(pass, linear, x, kept.mix.tokens, logs), total,
        more, static_cast<double>(layer.q.fan_in), over);
    total = sum(total, more);
  };
  if (!layer.over_memory) add(layer.k, made.k, out.k);
  for (LogCovariance* each : {&out.q, &out.k, &out.input})
    covariance_through_norm(*each, of_scores);
  if (!layer.over_memory) add(layer.v, made.v, out.v);
  out.input.propagator = out.input.propagator * g.log_covariance.propagator;
  if (!layer.over_memory) return out;
  const auto through = [&](const Linear& linear, const X& x, const LogCovariance& logs) {
    return covariance_through_weights(pass, linear, x, kept.k.tokens, logs);
  };
  out.memory =
      covariance_of_sum(start, through(layer.k, made.k, out.k), through(layer.v, made.v, out.v),
                        values_of(calculus, linear_backward(calculus, layer.k, made.k)),
                        values_of(calculus, linear_backward(calculus, layer.v, made.v)),
                        static_cast<double>(layer.k.fan_in), pass.counts(kept.k.tokens));
  return out;
}

}  // namespace scalecalc::moments
