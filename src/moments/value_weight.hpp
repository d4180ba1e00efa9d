#pragma once

#include "moments/attention_rule.hpp"

/// Gradients of the weights that values come from.
namespace scalecalc::moments {

/// The input of these weights, its D and x_s.x_s' over pairs of keys; `overlap`: of V/D^2 of the
/// keys' tokens, what it has in common with them, in D.
template <class X>
struct ValueInput {
  const X &source, &apart, &shared;
  double overlap;
};

/// E (dL/dw)^2 of one entry, but for what the matrix is multiplied by: sums over keys of x_s g_s,
/// and, `own` of them, D times what tokens that overlap by chance add
/// (docs/theory/attention.md#value-weights).
template <class N>
struct ValueWeight {
  N all{}, own{};
};

/// `gradient` at the mix and `at_values`; `shared_weights` as SharedOverlaps::weights.
template <class C, class X>
ValueWeight<typename C::Number> value_weight(C& calculus, const Attention& layer,
                                             const AttentionRecord<C, X>& record, const X& gradient,
                                             const X& at_values, double shared_weights,
                                             const ValueInput<X>& of) {
  using N = typename C::Number;
  const Factors<X>& factors = record.factors;
  const N& queries = record.counts.queries;
  const N group = calculus.size(layer.heads, "heads") / calculus.size(layer.kv_heads, "kv_heads");
  const X own_values = product(product(gradient, factors.value_weight), of.apart);
  N own = group * pair_sum(own_values, queries, record.batch);
  if constexpr (C::next_orders) own *= of.overlap;
  // x_s g_s of equal words fluctuate together; their sum over s is that of the mix.
  X inputs = of.source, gradients = at_values;
  if (record.words) {
    inputs = sum(of.shared, product(of.apart, factors.mix));
    if (record.word_masks) {
      const N rate = calculus.real(layer.dropout / (1 - layer.dropout));
      const X seconds = sum(of.shared, of.apart);
      inputs = sum(
          inputs, scaled_pairs(scaled(product(seconds, record.word_masks->mix), rate), N(0), N(0)));
    }
    inputs.between = between_means(record.input, of.source, record.counts);
    gradients = scaled(gradient, group);
  }
  const N& summed = record.words ? queries : record.counts.keys;
  N all = token_sum(inputs, gradients, summed, record.batch) + own;
  if constexpr (C::next_orders) {
    // Of equal words' mixes and their gradients together; of others `at_values` has it.
    if (record.words && shared_weights != 0)
      all += group * token_sum(of.apart, uniform(gradient, Alike<double>{0, 0, shared_weights, 0}),
                               queries, record.batch);
  }
  return {all, own};
}

}  // namespace scalecalc::moments
