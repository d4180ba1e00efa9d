#pragma once

#include <algorithm>
#include <cmath>

#include "moments/backward_pass.hpp"
#include "moments/forward_pass.hpp"

/// The mean over T tokens: m' = (m + (T-1) r)/T; back g = k = g'/T^2 (docs/theory/layers.md#pool).
namespace scalecalc::moments {

template <class C, class X>
Signal<X> pool_forward(C& calculus, const Signal<X>& in) {
  using N = typename C::Number;
  const N tokens = calculus.size(in.tokens, "tokens");
  const auto x = average(in.x);
  // Where the tokens add up to 0 (behind an instancenorm) rounding may leave less than that.
  const N second = calculus.positive((x.second + (tokens - 1) * x.cross) / tokens);
  Signal<X> out = in;
  out.normalised = false;
  out.mixture = {};
  out.flat.reset();
  out.tokens = 1;
  out.x = uniform(in.x, Alike<N>{x.mean, second, second, x.between});
  out.overlap = {in.overlap.coherent, in.overlap.noise};
  if constexpr (C::next_orders) {
    out.spread.token_variance = in.spread.batch_variance;
    // Only two sequences have an overlap left: no more than that of features that differ by as
    // much.
    const Alike<double> y = values_of(calculus, out.x);
    const double apart = y.second - y.between,
                 fresh = apart * apart / static_cast<double>(in.width),
                 found = calculus.value(in.overlap.variance());
    const double share = found > 0 ? std::min(1.0, fresh / found) : 1;
    out.overlap = {in.overlap.coherent * std::sqrt(share), in.overlap.noise * share};
    const double after = calculus.value(second);
    const double kept = after > 0 ? calculus.value(x.second) / after : 0;
    for (RelativeError* bound : {&out.error, &out.truncation})
      bound->second = bound->cross = kept * std::max(bound->second, bound->cross);
  }
  return out;
}

template <class X, class N>
X pool_backward(const X& gradient, const N& tokens) {
  const auto g = average(gradient);
  const N square = tokens * tokens;
  return uniform(gradient,
                 Alike<N>{N(0), g.second / square, g.second / square, g.between / square});
}

template <class C, class X>
struct Kept<Pool, C, X> {
  Places at;
};

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Pool& layer, Signal<X> x) {
  pass.calculus().enter(layer.path);
  Signal<X> y = pool_forward(pass.calculus(), x);
  pass.template keep<Pool>({{pass.site(layer.path, "pool", y), 0, x.tokens}});
  return y;
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Pool&, Gradient<X> g) {
  const auto kept = pass.template take<Pool>();
  pass.note(kept.at.site, g);
  g.x = pool_backward(g.x, pass.tokens(kept.at.tokens));
  g.kinds = {};
  g.slopes = {};
  g.uneven = 0;
  g.follows_size = 0;
  g.aligned = typename C::Number(0);
  return g;
}

}  // namespace scalecalc::moments
