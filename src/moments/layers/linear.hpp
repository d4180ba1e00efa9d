#pragma once

#include <cmath>
#include <utility>
#include <variant>

#include "moments/equal_words.hpp"
#include "moments/own_word.hpp"
#include "moments/weight_matrix.hpp"

/// y = x W + b: the rule is in linear_map.hpp.
namespace scalecalc::moments {

template <class C, class X>
struct Kept<Linear, C, X> {
  Places at;
  WeightInput<X> input;
};

/// `kind`: of the layer whose matrix it is; `known`: what is known of overlaps of x.
template <class C, class X>
Signal<X> through_matrix(ForwardPass<C, X>& pass, const Linear& layer, const char* kind,
                         Signal<X> x, const OverlapDeviation* known = nullptr) {
  C& calculus = pass.calculus();
  Signal<X> y = linear_forward(calculus, layer, x, pass.counts(x));
  if (layer.tied) add_own_word(calculus, pass.network(), layer, x, y);
  const std::size_t at = pass.site(layer.path, kind, y);
  OverlapDeviation overlap;
  if constexpr (C::next_orders) overlap = known ? *known : overlap_deviation(calculus, x);
  pass.template keep<Linear>(
      {{at, note_weights(pass, layer), x.tokens},
       {std::move(x.x), x.spread, with_mask_sizes(x), overlap, x.tokens, std::move(x.profile)}});
  return y;
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Linear& layer, Signal<X> x) {
  pass.calculus().enter(layer.path);
  settle(x);
  const bool is_head = &layer == std::get_if<Linear>(&pass.network().layers.back().op);
  return through_matrix(pass, layer, is_head ? "head" : "linear", std::move(x));
}

/// dk/dr of the logits as slopes of the gradient there: their overlaps vary as those of the head's
/// input do.
template <class C, class X>
void start_slopes(const C& calculus, const X& logit_slopes, const OverlapDeviation& input,
                  double gain, Gradient<X>& g) {
  if constexpr (C::next_orders) {
    const Alike<double> rise = values_of(calculus, logit_slopes);
    g.slopes = {{rise.cross, rise.cross * gain * input.coherent},
                {rise.between, rise.between * gain * input.coherent * input.apart}};
  }
}

/// Gradients of logits that grow with them, |g_t|^2 ~ |x_t|^(2e), are large where x_t is: of one
/// token's E |x_t|^2|g_t|^2 beside the product of means (docs/theory/layers.md#head-sizes).
template <class C, class X>
void add_logit_sizes(BackwardPass<C, X>& pass, const Linear& layer, std::size_t parameter,
                     const WeightInput<X>& input, double exponent, const Gradient<X>& g) {
  if (layer.tied || g.coupling || input.spread.log_range > 0) return;
  constexpr double most = 1;  // of the logarithm: past it draws part ways
  const C& calculus = pass.calculus();
  const double scale = calculus.value(weight_scale(calculus, layer)),
               own = values_of(calculus, input.x).second * values_of(calculus, g.x).second;
  pass.parameter(parameter).gradient +=
      scale * pass.counts(input.tokens).samples() * own *
      std::expm1(std::min<double>(exponent * input.spread.token_variance, most));
}

/// Behind a tied head: of two tokens the token's own word is along the input of the same word
/// alone, where linear_backward takes all of a x for sums over weights
/// (docs/theory/layers.md#tied-head).
template <class C, class X>
void take_own_word(const C& calculus, const Linear& layer, const WeightInput<X>& input, OwnWord own,
                   Gradient<X>& g) {
  if constexpr (C::next_orders) {
    own.word *= layer.multiplier;
    own.along *= static_cast<double>(layer.fan_out) * calculus.value(calculus.variance(layer));
    if (layer.multiplier != 0)
      own.seen = own.along * values_of(calculus, input.x).second / layer.multiplier;
    const double along = calculus.value(g.aligned), rest = along - own.along;
    const double both = 2 * rest * own.along;
    const double less = along * along - rest * rest;
    const Alike<double> x = values_of(calculus, input.x);
    if (g.equal_words != 0)
      g.equal_words =
          equal_below_head(g.equal_words, values_of(calculus, g.x).second, x, along, own);
    using T = Token<double>;
    g.x = sum(g.x, map(
                       input.x,
                       [&](const T& u) {
                         return T{0, -own.along * own.along * u.second};
                       },
                       [&](const T& t, const T& u, double cross) {
                         return own.same * both * std::sqrt(t.second * u.second) - less * cross;
                       }));
    own.of_words *= gain_of(calculus, layer) * static_cast<double>(layer.fan_out) *
                    calculus.value(calculus.variance(layer));
    if (own.overlap > 0) {
      g.slopes = with_part_along(g.slopes, both / own.overlap - less, input.overlap);
      own.of_words += both / own.overlap;
    }
    g.aligned = rest;
    g.own = own;
  }
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Linear& layer, Gradient<X> g) {
  C& calculus = pass.calculus();
  const auto& kept = pass.template take<Linear>();
  pass.note(kept.at.site, g);
  const auto slopes = pass.take_logit_slopes();
  if constexpr (C::next_orders) {
    if (slopes)
      start_slopes(calculus, slopes->pairs, kept.input.overlap, gain_of(calculus, layer), g);
  }
  fill_weights(pass, layer, kept.at.parameter, kept.input, g);
  if constexpr (C::next_orders) {
    if (slopes) add_logit_sizes(pass, layer, kept.at.parameter, kept.input, slopes->own, g);
  }
  Gradient<X> out = through_weights(pass, layer, kept.input, g);
  if (layer.tied) take_own_word(calculus, layer, kept.input, g.own, out);
  return out;
}

}  // namespace scalecalc::moments
