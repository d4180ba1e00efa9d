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

/// |p|^2 of the mean p over tokens fluctuates by what maps of normal features make of overlaps, 2
/// V/D^2, as that of any token does, where the average of |x_t|^2 does by the share `pairs_squared`
/// of it; what tokens' sizes vary by besides is averaged (docs/theory/finite-width.md#pool). `y`:
/// of p.
template <class C, class X>
void spread_of_mean(const C& calculus, const Signal<X>& in, const Alike<double>& y,
                    const Counts& counts, NormVariance& spread) {
  const Alike<double> x = values_of(calculus, in.x);
  const double apart = x.second - x.cross, token = in.spread.token_variance;
  double maps = 0;
  if constexpr (std::is_same_v<typename X::Number, double>) {
    if (apart > 0)
      maps = 2 * std::max(0.0, in.overlap.variance() - overlap_of_tokens(in)) / (apart * apart);
  }
  // Behind a norm tokens are of one size, and their mean is not, but where they are equal.
  maps = std::min(maps, std::max(token, 2 / static_cast<double>(in.width)));
  const double cosine = x.second > 0 ? std::clamp(x.cross / x.second, -1.0, 1.0) : 1;
  if (maps > token) maps = token + (maps - token) * (1 - cosine * cosine);
  const double one = std::max(0.0, token - maps),
               all = std::max(0.0, in.spread.batch_variance - maps * pairs_squared(x, counts)),
               both = std::clamp(within_sequence(one, all, x, counts), 0.0, one);
  // Of features the mean is in all draws.
  const double fixed = y.second > 0 ? std::min(1.0, y.mean * y.mean / y.second) : 0,
               made = maps * (1 - fixed * fixed * (1 - cosine * cosine));
  spread.token_variance = made + both + (one - both) / counts.tokens;
  spread.batch_variance =
      std::min<double>(made * pairs_squared(y, {1, counts.batch}) + all, spread.token_variance);
}

template <class C, class X>
Signal<X> pool_forward(C& calculus, const Pool& layer, const Signal<X>& in, const Counts& counts) {
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
  out.none = 0;
  out.tokens = 1;
  out.x = uniform(in.x, Alike<N>{x.mean, second, second, x.between});
  out.overlap = {in.overlap.coherent, in.overlap.noise};
  if constexpr (C::next_orders) {
    if (in.tokens == 1) return in;
    const Alike<double> y = values_of(calculus, out.x);
    // One token fluctuates by itself.
    if (count == 1)
      out.spread.batch_variance = in.spread.token_variance;
    else
      spread_of_mean(calculus, in, y, counts, out.spread);
    // Only two sequences have an overlap left: no more than that of features that differ by as
    // much.
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
  double follows = 1;            ///< how far ln of its size goes with that of one of its tokens
};

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Pool& layer, Signal<X> x) {
  pass.calculus().enter(layer.path);
  settle(x);
  const NormVariance spread = x.spread;
  Signal<X> y = pool_forward(pass.calculus(), layer, x, pass.counts(x));
  Kept<Pool, C, X> kept{{pass.site(layer.path, "pool", y), 0, x.tokens}};
  if constexpr (C::next_orders) {
    kept.second = values_of(pass.calculus(), y.x).second;
    kept.width = static_cast<double>(y.width);
    if (!reads_one(layer) && x.tokens > 1 && spread.token_variance > 0)
      kept.follows = std::min(1.0, spread.batch_variance / spread.token_variance);
  }
  pass.template keep<Pool>(std::move(kept));
  return y;
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Pool& layer, Gradient<X> g) {
  const auto& kept = pass.template take<Pool>();
  pass.note(kept.at.site, g);
  if constexpr (C::next_orders) {
    if (kept.at.tokens == 1) return g;
    // Of one token the part along it stays there, and is a share of all that there is.
    const double all = values_of(pass.calculus(), g.x).second;
    const double along = pass.calculus().value(g.aligned);
    const double share = all > 0 ? std::min(1.0, along * along * kept.second / all) : 0;
    if (reads_one(layer)) {
      g.read_token = ReadToken{along, g.uneven, g.directions.radial, layer.of == Pool::Of::last};
      g.directions.radial += share * (kept.width - g.directions.radial);
    }
    g.size_exponent = std::max(g.size_exponent, share) * kept.follows;
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
