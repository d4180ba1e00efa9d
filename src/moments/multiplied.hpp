#pragma once

#include <utility>

#include "moments/calculus.hpp"
#include "moments/gradient.hpp"
#include "moments/kept_input.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/signal.hpp"
#include "moments/slope_correlation.hpp"

/// y = c x for a number c that is no parameter (docs/theory/layers.md#norm-scale). What is relative
/// to the size of a signal or of a gradient stays.
namespace scalecalc::moments {

template <class C, class X>
Signal<X> multiplied(const C& calculus, const Signal<X>& in, double factor) {
  using N = typename C::Number;
  using T = Token<N>;
  const N c = calculus.real(factor), square = c * c, fourth = square * square;
  Signal<X> out = in;
  out.x = map(
      in.x,
      [&](const T& u) {
        return T{N(c * u.mean), N(square * u.second)};
      },
      [&](const T&, const T&, const N& cross) { return N(square * cross); });
  if (in.own) out.own = scaled(*in.own, c);
  out.overlap = {in.overlap.coherent * square, in.overlap.noise * fourth};
  if constexpr (C::next_orders) {
    out.fresh *= fourth;
    out.mask_overlap *= fourth;
    out.mean_pairs *= square;
  }
  if (out.with_inputs)
    for (WithInput<X>& one : *out.with_inputs) one.product = scaled(one.product, c);
  return out;
}

/// Of y's gradient, a part a y along y is c^2 a x: g_x = c g_y.
template <class C, class X>
Gradient<X> multiplied(const C& calculus, Gradient<X> g, double factor) {
  using N = typename C::Number;
  const N c = calculus.real(factor), square = c * c;
  g.x = scaled(g.x, square);
  g.aligned = g.aligned * square;
  if (g.along_tokens) *g.along_tokens = scaled(*g.along_tokens, square);
  scale_sums(g.with_sums, c, calculus.value(c));
  scale_slope_correlation(calculus, g, c);
  if constexpr (C::next_orders) {
    g.own.word *= c;
    g.feature_mean *= c;
    g.uneven *= square * square;
    if (g.read_token) {
      g.read_token->aligned *= c * c;
      g.read_token->uneven *= c * c * c * c;
    }
    g.slopes = through_map(g.slopes, square, square);
    if (g.tie) {
      g.tie->second *= square;
      g.tie->cross *= square;
    }
  }
  return g;
}

}  // namespace scalecalc::moments
