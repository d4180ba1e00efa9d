#pragma once

#include <algorithm>

#include "moments/attention_backward.hpp"
#include "moments/linear_map.hpp"

namespace scalecalc::moments {

/// The share of a gradient that is missing along the mix is missing along its values, times their
/// cosine with it; along normalised queries and keys all is.
/// Returns the level along the input (docs/theory/finite-width.md#along).
template <class C, class X>
double level_of_attention(C& calculus, const Attention& layer, const AttentionRecord<C, X>& record,
                          const NormDirections& directions, AttentionBackward<X>& made) {
  const Alike<double> x = values_of(calculus, record.source);
  const double all = values_of(calculus, made.input).second;
  if (!(x.second > 0) || !(all > 0)) return 1;
  double level = 1;
  const auto lacks = [&](const Linear& linear, const X& gradient, double missing) {
    const X back = linear_backward(calculus, linear, gradient);
    const X kept = without_along(calculus, linear, record.input, missing, back);
    level -= missing * values_of(calculus, back).second / all;
    made.input = sum(made.input, sum(kept, scaled(back, typename C::Number(-1))));
  };
  const auto normed = [&](const Linear& linear) {
    const double share = input_share(calculus, linear, record.input);
    const double gain =
        static_cast<double>(linear.fan_in) * calculus.value(calculus.variance(linear));
    const double second = share > 0 ? gain * values_of(calculus, record.input).second / share : 0;
    return second > 0 ? share * second / (second + layer.qk_norm_eps) : 0;
  };
  if (!layer.over_memory)
    lacks(layer.v, made.v,
          (1 - directions.radial) * std::clamp(x.cross / x.second, 0.0, 1.0) *
              (record.first ? record.first->own : 1));
  if (layer.qk_norm) {
    lacks(layer.q, made.q, normed(layer.q));
    if (!layer.over_memory) lacks(layer.k, made.k, normed(layer.k));
  }
  return level;
}

}  // namespace scalecalc::moments
