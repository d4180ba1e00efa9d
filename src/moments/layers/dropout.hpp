#pragma once

#include <algorithm>
#include <utility>

#include "moments/along_mean.hpp"
#include "moments/backward_pass.hpp"
#include "moments/forward_pass.hpp"
#include "moments/mixture_gradient.hpp"
#include "moments/token_distance.hpp"
#include "moments/words.hpp"

/// Inverted dropout (docs/theory/layers.md#dropout): m' = m/(1 - p), r' = r; g = g'/(1 - p), k =
/// k'.
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

/// Of a gradient with a part a y along y = m x/(1 - p), m the mask, comes m a y/(1 - p): m is in it
/// twice. What that makes beyond dropped(): a^2 x^2 (1 - p)^-3 for (1 - p)^-2 of one token, a^2 r
/// (1 -
/// p)^-2 for a^2 r of two.
template <class C, class X>
X dropped_part_along(const C& calculus, const Dropout& layer, const X& x,
                     const typename C::Number& aligned) {
  using N = typename C::Number;
  using T = Token<N>;
  const N kept = 1 - calculus.real(layer.rate), square = aligned * aligned / (kept * kept);
  return map(
      x,
      [&](const T& u) {
        return T{N(0), square * u.second * (1 - kept) / kept};
      },
      [&](const T&, const T&, const N& cross) { return N(square * cross * (1 - kept * kept)); });
}

/// With the crosses of two samples as they are in `from`.
template <class N>
Alike<N> with_between_of(Alike<N> x, const Alike<N>& from) {
  x.between = from.between;
  return x;
}
inline PerPosition with_between_of(PerPosition x, const PerPosition& from) {
  x.between = from.between;
  return x;
}

/// b x with one b for all of a sample: m' = m/(1 - p), r' = r/(1 - p), r_b' = r_b
/// (docs/theory/layers.md#drop-path).
template <class C, class X>
X path_dropped(const C& calculus, const Dropout& layer, const X& x) {
  using N = typename C::Number;
  using T = Token<N>;
  const N kept = 1 - calculus.real(layer.rate);
  X out = map(
      x,
      [&](const T& u) {
        return T{u.mean, u.second / kept};
      },
      [&](const T&, const T&, const N& cross) { return N(cross / kept); });
  return with_between_of(std::move(out), x);
}

template <class C, class X>
Signal<X> drop_path_forward(C& calculus, const Dropout& layer, const Signal<X>& in,
                            const Counts& counts) {
  Signal<X> out = in;
  out.normalised = false;
  out.x = path_dropped(calculus, layer, in.x);
  const auto scale = 1 / (1 - calculus.real(layer.rate));
  // Of the overlaps given b^2: what b^2 itself moves them by is known where a norm divides by it.
  out.overlap = {in.overlap.coherent * scale, in.overlap.noise * scale * scale * scale};
  if constexpr (C::next_orders) {
    out.fresh *= scale * scale * scale;
    out.mask_overlap *= scale * scale;
    out.spread = through_drop_path(in.spread, layer.rate, counts);
    out.dropped = lost_branch(layer.rate);
  }
  return out;
}

template <class C, class X>
Signal<X> dropout_forward(C& calculus, const Dropout& layer, const Signal<X>& in,
                          const Counts& counts) {
  if (layer.per_sample) return drop_path_forward(calculus, layer, in, counts);
  Signal<X> out = in;
  out.normalised = false;
  // Of what two equal tokens have in common masks leave as much as of r beside m.
  set_words(in, 1 - layer.rate, out);
  out.x = dropped(calculus, layer, in.x);
  if constexpr (C::next_orders) {
    // Masks are drawn for each token. Of E x^4/(E x^2)^2 = k, which becomes k/(1 - p), the relative
    // variance of |x|^2 is (k - 1)/d.
    const double more = layer.rate / (1 - layer.rate), width = static_cast<double>(in.width);
    const double noise = in.kurtosis * more / width;
    out.spread = through_dropout(in.spread, layer.rate, noise, values_of(calculus, out.x), counts);
    out.kurtosis /= 1 - layer.rate;
    out.law.reset();
    if (out.flat) out.flat->cells.reset();
    out.mixture = dropped(in.mixture, layer.rate);
    // So does that of x_t.x_u: E x_t^2 x_u^2 of independent masks is (1 - p)^-2 of m^2 + 2 r^2 - 2
    // mu^4, of Gaussian features about their mean mu, and E x_s^2 x_t x_u is m r + 2 r^2 - 2 mu^4.
    const Alike<double> x = values_of(calculus, in.x);
    // What both tokens have in common of it, x_s^2 times one mask, goes with their mean.
    const double together = x.cross * x.cross - std::pow(x.mean, 4);
    const double made = (x.second * x.second + 2 * together) * more * (2 + more) / width;
    const double of_one = more * (4 * together + 2 * x.cross * x.second) / width;
    out.mask_overlap += std::max(0.0, of_one);
    out.overlap.noise = out.overlap.noise + calculus.real(made);
    for (RelativeError* bound : {&out.error, &out.truncation}) {
      const double apart = (1 - layer.rate) * bound->apart() + layer.rate * bound->second;
      bound->cross *= 1 - layer.rate;
      bound->know_apart(apart);
    }
  }
  return out;
}

template <class C, class X>
struct Kept<Dropout, C, X> {
  Places at;
  Mixture before;
  X input;
};

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Dropout& layer, Signal<X> x) {
  pass.calculus().enter(layer.path);
  if (layer.rate == 0) {
    pass.template keep<Dropout>({{pass.site(layer.path, "dropout", x), 0, x.tokens}, {}, {}});
    return x;
  }
  Signal<X> y = dropout_forward(pass.calculus(), layer, x, pass.counts(x));
  const std::size_t at = pass.site(layer.path, "dropout", y);
  pass.template keep<Dropout>({{at, 0, x.tokens}, std::move(x.mixture), std::move(x.x)});
  return y;
}

/// Of a gradient with a part a y along y = b x comes a b^2 x, a^2 x^2 E b^4 of one sample. `input`:
/// x.
template <class C, class X>
Gradient<X> drop_path_backward(BackwardPass<C, X>& pass, const Dropout& layer, const X& input,
                               Gradient<X> g) {
  using N = typename C::Number;
  using T = Token<N>;
  C& calculus = pass.calculus();
  const N scale = 1 / (1 - calculus.real(layer.rate)),
          square = g.aligned * g.aligned * scale * scale;
  const X along = map(
      input,
      [&](const T& u) {
        return T{N(0), square * (scale - 1) * u.second};
      },
      [&](const T&, const T&, const N& cross) { return N(square * (scale - 1) * cross); });
  X made = path_dropped(calculus, layer, g.x);
  if constexpr (C::next_orders) {
    const double of_kept = std::exchange(g.of_kept, 1.0);
    made = with_between_of(scaled(made, of_kept), g.x);
    g.slopes = through_map(g.slopes, scale, scale);
    g.own.of_words *= scale * scale;
  }
  g.x = g.own.word != 0 ? made : sum(made, with_between_of(along, scaled(input, N(0))));
  g.aligned = g.aligned * scale;
  return g;
}

/// The gradient's root mean square at features that are dropped, the last of the kinds, beside its
/// mean; no more than 1.
inline double share_of_dropped(const KindGradient& kinds) {
  if (kinds.plain()) return 1;
  return std::sqrt(std::clamp(kinds.second[kinds.second.size() - 1], 0.0, 1.0));
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Dropout& layer, Gradient<X> g) {
  C& calculus = pass.calculus();
  const auto& kept = pass.template take<Dropout>();
  pass.note(kept.at.site, g);
  if (layer.rate == 0) return g;
  if (layer.per_sample) return drop_path_backward(pass, layer, kept.input, std::move(g));
  using N = typename C::Number;
  // A token's own x has its mask twice, unless the gradient is known to be 0 where x is dropped.
  const N own = g.aligned * calculus.real(own_share(g.along_mean) * share_of_dropped(g.kinds));
  g.x = sum(dropped(calculus, layer, g.x),
            dropped_part_along(calculus, layer, kept.input,
                               // Of a token's word and of x, a norm has left nothing along x.
                               g.own.word != 0 ? N(0) : own));
  if (g.along_mean)
    g.along_mean.less -= own_share(g.along_mean) * layer.rate / (1 - layer.rate);
  else
    g.aligned = g.aligned / (1 - calculus.real(layer.rate));
  if constexpr (C::next_orders) rescale_own(g, 1, 1 / (1 - layer.rate));
  g.equal_words *= 1 - layer.rate;
  if constexpr (C::next_orders) scale_kinds(calculus, g, before_dropout(kept.before, g.kinds));
  return g;
}

}  // namespace scalecalc::moments
