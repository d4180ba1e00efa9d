#pragma once

#include <cmath>
#include <type_traits>
#include <utility>

#include "moments/layers/embedding.hpp"
#include "moments/layers/residual.hpp"
#include "moments/positions.hpp"
#include "scalecalc/error.hpp"

/// Learnt vectors in front of the tokens, and a table of positions
/// (docs/theory/layers.md#class-tokens).
namespace scalecalc::moments {

/// Mean over all pairs of the variance of an overlap: V of two of the others, and products of two
/// seconds over the width where a class token is one of them.
template <class C, class X>
Overlap<typename C::Number> overlap_with_class_tokens(C& calculus, const ClassTokens& layer,
                                                      const Signal<X>& in) {
  using N = typename C::Number;
  using std::sqrt;
  const N others = calculus.size(in.tokens, "tokens");
  const N count = calculus.real(static_cast<double>(layer.count)), all = others + count;
  const N own = calculus.real(layer.std * layer.std), m = average(in.x).second;
  const N fresh =
      count * own * (2 * others * m + (count - 1) * own) / calculus.size(in.width, "width");
  const N pairs = others * (others - 1) * in.overlap.variance() + fresh;
  return {sqrt(N(pairs / (all * (all - 1)))), N(0)};
}

/// A table that no seed draws: its tokens have one length, and nothing in it fluctuates.
template <class C, class X>
Signal<X> with_sinusoids(C& calculus, const ClassTokens& layer, const Signal<X>& in,
                         const Counts& counts) {
  using N = typename C::Number;
  const Counts over{static_cast<double>(in.tokens), counts.batch};
  if constexpr (std::is_same_v<N, double>) {
    const Sinusoids of = sinusoids_of(in.tokens, in.width, layer.columns);
    Signal<X> table;
    table.width = in.width;
    table.tokens = in.tokens;
    table.x = sinusoid_table(of, in.x);
    table.overlap = {0, pair_scatter(of)};
    table.spread.susceptibility = 0;
    Signal<X> made = sum_forward(calculus, 1.0, 1.0, in, table, over);
    made.sinusoids = true;
    return made;
  } else {
    throw Error(ErrorKind::input, "there are no formulas of fixed sinusoids", {},
                "use --engine quadrature");
  }
}

template <class C, class X>
Signal<X> class_tokens_forward(C& calculus, const ClassTokens& layer, const Signal<X>& in,
                               const Counts& counts) {
  using N = typename C::Number;
  Signal<X> out = in;
  const N before = calculus.size(in.tokens, "tokens");
  const N count = calculus.real(static_cast<double>(layer.count));
  out.normalised = false;
  out.tokens = in.tokens + layer.count;
  if (layer.count > 0) {
    out.overlap = overlap_with_class_tokens(calculus, layer, in);
    out.x = with_class_tokens(in.x, count, before, calculus.real(layer.std * layer.std));
  }
  if (layer.sinusoids) return with_sinusoids(calculus, layer, out, counts);
  if (layer.position_std == 0) return out;
  const Counts over{static_cast<double>(out.tokens), counts.batch};
  const N second = calculus.real(layer.position_std * layer.position_std);
  Signal<X> table = input_signal(calculus, position_table(out.x, second, N(before + count)),
                                 out.width, out.tokens, over);
  // Nothing in the table moves with the tokens.
  table.overlap = {N(0), table.overlap.variance()};
  table.spread.susceptibility = 0;
  return sum_forward(calculus, N(1), N(1), out, table, over);
}

/// One position, averaged over those of a kind: B g + B (B-1) k_b.
template <class N>
N own_gradient(const Alike<N>& g, const N& batch) {
  return batch * g.second + batch * (batch - 1) * g.between;
}

/// Relative, of own_gradient: k_b of a class token is not known (of two sequences passes have up to
/// 1.9 times the whole) and may be anything up to g.
template <class N>
double own_gradient_error(const Alike<N>& g, const N& batch) {
  if constexpr (std::is_same_v<N, double>) {
    const double all = own_gradient(g, batch);
    if (batch > 1 && all > 0) return batch * (batch - 1) * (g.second - g.between) / all;
  }
  return 0;
}

template <class C, class X>
struct Kept<ClassTokens, C, X> {
  Places at;
  double share = 1;  ///< of E x^2 of the tokens that are no class tokens, what came in
};

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const ClassTokens& layer, Signal<X> x) {
  C& calculus = pass.calculus();
  calculus.enter(layer.path);
  settle(x);
  const std::int64_t tokens = x.tokens;
  const auto before = average(x.x);
  Signal<X> y = class_tokens_forward(calculus, layer, x, pass.counts(x));
  const std::size_t site = pass.site(layer.path, "embedding", y);
  Kept<ClassTokens, C, X> kept{{site, 0, tokens}};
  if (layer.count > 0)
    kept.at.parameter =
        pass.parameter(layer.path, ".class", layer.count, layer.width, layer.std * layer.std);
  if (layer.position_std > 0) {
    const std::size_t positions = pass.parameter(layer.path, ".position", y.tokens, layer.width,
                                                 layer.position_std * layer.position_std);
    if (layer.count == 0) kept.at.parameter = positions;
  }
  if constexpr (C::next_orders) {
    const double table = layer.sinusoids ? 0.5 : layer.position_std * layer.position_std;
    const double came = calculus.value(before.second), all = came + table;
    kept.share = all > 0 ? came / all : 1;
  }
  pass.template keep<ClassTokens>(std::move(kept));
  return y;
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const ClassTokens& layer, Gradient<X> g) {
  const auto& kept = pass.template take<ClassTokens>();
  pass.note(kept.at.site, g);
  std::size_t at = kept.at.parameter;
  using N = typename C::Number;
  const N same =
      equal_positions(pass.calculus(), layer.position_std, g, pass.tokens(kept.at.tokens));
  N of_positions = position_gradient(g.x, same, pass.batch());
  double error = 0;
  if (layer.count > 0) {
    const auto at_class = of_kind(g.x, Kind::class_tokens);
    const auto of_class = own_gradient(at_class, pass.batch());
    const N of_others = own_gradient(of_kind(g.x, Kind::others), pass.batch()) +
                        pass.batch() * (pass.batch() - 1) * same;
    const auto count = pass.calculus().real(static_cast<double>(layer.count));
    const auto others = pass.tokens(kept.at.tokens);
    fill(pass, at, of_class, g, {});
    error = own_gradient_error(at_class, pass.batch());
    pass.parameter(at++).truncation += NonNegative(error);
    of_positions = (count * of_class + others * of_others) / (count + others);
    g.x = without_class_tokens(g.x);
  }
  if (layer.position_std > 0) {
    fill(pass, at, of_positions, g, {});
    pass.parameter(at).truncation += NonNegative(error);
  }
  g.kinds = {};
  g.directions.radial = across(g.directions.radial, kept.share);
  // A table makes its share of the sizes that a norm above has divided by.
  g.follows_size *= kept.share;
  return g;
}

}  // namespace scalecalc::moments
