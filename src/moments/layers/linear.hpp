#pragma once

#include <utility>
#include <variant>

#include "moments/weight_matrix.hpp"

/// y = x W + b: the rule is in linear_map.hpp.
namespace scalecalc::moments {

template <class C, class X>
struct Kept<Linear, C, X> {
  Places at;
  WeightInput<X> input;
};

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Linear& layer, Signal<X> x) {
  C& calculus = pass.calculus();
  calculus.enter(layer.path);
  Signal<X> y = linear_forward(calculus, layer, x, pass.counts(x));
  const bool is_head = &layer == std::get_if<Linear>(&pass.network().layers.back().op);
  const std::size_t at = pass.site(layer.path, is_head ? "head" : "linear", y);
  OverlapDeviation overlap;
  if constexpr (C::next_orders) overlap = overlap_deviation(calculus, x);
  pass.template keep<Linear>({{at, note_weights(pass, layer), x.tokens},
                              {std::move(x.x), x.spread, with_mask_sizes(x), overlap, x.tokens}});
  return y;
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

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Linear& layer, Gradient<X> g) {
  C& calculus = pass.calculus();
  const auto kept = pass.template take<Linear>();
  pass.note(kept.at.site, g);
  if (const std::optional<X> slopes = pass.take_logit_slopes()) {
    if constexpr (C::next_orders)
      start_slopes(calculus, *slopes, kept.input.overlap, gain_of(calculus, layer), g);
  }
  fill_weights(pass, layer, kept.at.parameter, kept.input, g);
  return through_weights(pass, layer, kept.input, g);
}

}  // namespace scalecalc::moments
