#pragma once

#include "moments/calculus.hpp"
#include "moments/spread.hpp"

/// Inverted dropout (theory, section 2): m' = m/(1 - p), r' = r; g = g'/(1 - p), k = k'.
namespace scalecalc::moments {

template <class C, class X>
X dropped(const C& calculus, const Dropout& layer, const X& x) {
  using N = typename C::Number;
  using T = Token<N>;
  const N kept = 1 - calculus.real(layer.rate);
  return map(
      x,
      [&](const T& u) {
        return T{u.mean, u.second / kept};
      },
      [](const T&, const T&, const N& cross) { return cross; });
}

template <class C, class X>
Signal<X> dropout_forward(C& calculus, const Dropout& layer, const Signal<X>& in,
                          const Counts& counts) {
  Signal<X> out = in;
  out.normalised = false;
  out.x = dropped(calculus, layer, in.x);
  if constexpr (C::next_orders) {
    // Masks are drawn for each token: the fourth moment of Gaussian features, 3, is cut up alone.
    const double noise = 3 * layer.rate / (1 - layer.rate) / static_cast<double>(in.width);
    out.spread.one += noise;
    out.spread.all += noise / counts.samples();
    out.kurtosis /= 1 - layer.rate;
    out.error.cross *= 1 - layer.rate;
    out.truncation.cross *= 1 - layer.rate;
    calculus.assume("dropout", "masks leave features Gaussian", "rate/(1 - rate)",
                    layer.rate / (1 - layer.rate), 0.25);
  }
  return out;
}

}  // namespace scalecalc::moments
