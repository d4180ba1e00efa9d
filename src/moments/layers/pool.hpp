#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "moments/backward_pass.hpp"
#include "moments/forward_pass.hpp"
#include "moments/positions.hpp"

/// The mean over T tokens: m' = (m + (T-1) r)/T; back g = k = g'/T^2 (docs/theory/layers.md#pool).
/// Of one token it is that token.
namespace scalecalc::moments {

/// Whether it is one token, and no mean.
inline bool reads_one(const Pool& layer) {
  return layer.of == Pool::Of::first || layer.of == Pool::Of::last;
}

/// How many tokens are averaged over.
inline std::int64_t pooled_tokens(const Pool& layer, std::int64_t tokens) {
  if (reads_one(layer)) return 1;
  return layer.of == Pool::Of::rest ? tokens - layer.class_tokens : tokens;
}

/// These tokens.
template <class X>
auto pooled(const Pool& layer, const X& x) {
  switch (layer.of) {
    case Pool::Of::first: return of_first(x);
    case Pool::Of::last: return of_last(x);
    case Pool::Of::rest: return layer.class_tokens > 0 ? of_kind(x, Kind::others) : average(x);
    case Pool::Of::all: break;
  }
  return Alike<typename X::Number>(average(x));
}

template <class C, class X>
Signal<X> pool_forward(C& calculus, const Pool& layer, const Signal<X>& in) {
  using N = typename C::Number;
  const std::int64_t count = pooled_tokens(layer, in.tokens);
  const N tokens = calculus.size(count, "tokens");
  const auto x = pooled(layer, in.x);
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
    // One token fluctuates by itself.
    if (count == 1)
      out.spread.batch_variance = in.spread.token_variance;
    else
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
X pool_backward(const Pool& layer, const X& gradient, const N& tokens) {
  const auto g = average(gradient);
  const N square = tokens * tokens;
  const Alike<N> each{N(0), g.second / square, g.second / square, g.between / square};
  if (layer.of == Pool::Of::last) return on_last(gradient, each);
  if (layer.of == Pool::Of::all || layer.class_tokens == 0) return uniform(gradient, each);
  return on_kind(gradient, layer.of == Pool::Of::first ? Kind::class_tokens : Kind::others, each);
}

template <class C, class X>
struct Kept<Pool, C, X> {
  Places at;
  double second = 0, width = 1;  ///< of the pooled token
};

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Pool& layer, Signal<X> x) {
  pass.calculus().enter(layer.path);
  settle(x);
  Signal<X> y = pool_forward(pass.calculus(), layer, x);
  Kept<Pool, C, X> kept{{pass.site(layer.path, "pool", y), 0, x.tokens}};
  if constexpr (C::next_orders) {
    kept.second = values_of(pass.calculus(), y.x).second;
    kept.width = static_cast<double>(y.width);
  }
  pass.template keep<Pool>(std::move(kept));
  return y;
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Pool& layer, Gradient<X> g) {
  const auto& kept = pass.template take<Pool>();
  pass.note(kept.at.site, g);
  if constexpr (C::next_orders) {
    // Of one token the part along it stays there, and is a share of all that there is.
    const double all = values_of(pass.calculus(), g.x).second;
    const double along = pass.calculus().value(g.aligned);
    if (reads_one(layer) && all > 0) {
      const double share = std::min(1.0, along * along * kept.second / all);
      g.directions.radial += share * (kept.width - g.directions.radial);
    }
  }
  const std::int64_t count = pooled_tokens(layer, kept.at.tokens);
  g.x = pool_backward(layer, g.x, pass.tokens(count));
  const auto aligned = g.aligned;
  forget_tokens(g);
  if constexpr (C::next_orders) {
    if (!reads_one(layer)) {
      g.aligned = aligned / static_cast<double>(count);
      g.along_mean = {static_cast<double>(count),
                      layer.of == Pool::Of::rest && layer.class_tokens > 0};
    }
  }
  return g;
}

}  // namespace scalecalc::moments
