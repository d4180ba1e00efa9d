#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "moments/attention_scores.hpp"
#include "moments/first_values.hpp"
#include "moments/linear_map.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/sums.hpp"

/// Value residual: values are (1 - s) v + s u, u those that the first self-attention of the stack
/// has made (docs/theory/attention.md#value-residual).
namespace scalecalc::moments {

/// (1 - s)^2 and s^2.
template <class N>
struct ValueShares {
  N own{}, first{};
};
template <class C>
ValueShares<typename C::Number> value_shares(const C& calculus, const Attention& layer) {
  using N = typename C::Number;
  const double s = layer.value_residual;
  return {N(calculus.real((1 - s) * (1 - s))), N(calculus.real(s * s))};
}

/// Correlation of the first values' overlaps with those here: what a branch has added to its own is
/// new.
template <class X>
double follows_first(const FirstValues<X>& first, const Signal<X>& x) {
  if constexpr (std::is_same_v<typename X::Number, double>) {
    const double whole = std::sqrt(x.overlap.variance());
    return whole > 0 ? first.follows * x.overlap.coherent / whole : first.follows;
  } else {
    return 0;
  }
}

/// The sum of independent values. Of the overlaps' variance the first block's part moves with the
/// stream as far as it follows that; a v_t.u_u of both is of new features, as those of v are.
template <class C, class X>
Signal<X> mixed_values(C& calculus, const Attention& layer, const Signal<X>& own,
                       const FirstValues<X>& first, const Signal<X>& source, const Counts& counts) {
  using N = typename C::Number;
  const double s = layer.value_residual;
  Signal<X> out = sum_forward(calculus, N(calculus.real(1 - s)), N(calculus.real(s)), own,
                              first.values, counts);
  if constexpr (C::next_orders) {
    const Signal<X>& u = first.values;
    const double a2 = (1 - s) * (1 - s), b2 = s * s, follows = follows_first(first, source);
    const double whole = std::sqrt(u.overlap.variance());
    const Alike<double> x = average(own.x), y = average(u.x);
    out.overlap.coherent = a2 * own.overlap.coherent + b2 * follows * whole;
    out.overlap.noise =
        a2 * a2 * own.overlap.noise + b2 * b2 * (1 - follows * follows) * u.overlap.variance();
    out.fresh =
        a2 * a2 * own.fresh + b2 * b2 * u.fresh +
        2 * a2 * b2 * (x.second - x.cross) * (y.second - y.cross) / static_cast<double>(own.width);
  }
  return out;
}

/// What such values are made of, as an input of this layer's own weights: both side by side.
template <class C, class X>
Signal<X> mixed_source(C& calculus, const Attention& layer, const Signal<X>& source,
                       const FirstValues<X>& first, const Counts& counts) {
  using N = typename C::Number;
  const ValueShares<N> shares = value_shares(calculus, layer);
  const N own = calculus.size(layer.v.fan_in, "fan_in") * calculus.variance(layer.v);
  N ratio = N(1);
  if constexpr (C::next_orders) {
    if (own > 0) ratio = first.gain / own;
  }
  const X x = sum(scaled(source.x, shares.own), scaled(first.source.x, N(shares.first * ratio)));
  if constexpr (C::next_orders) {
    Signal<X> before = first.source;
    const double here = source.spread.batch_variance, there = before.spread.batch_variance;
    const double moves = here > 0 ? follows_first(first, source) * std::sqrt(there / here) : 0;
    before.spread.susceptibility = before.spread.distance_slope = moves;
    before.spread.distance_susceptibility = 0;
    Signal<X> out = sum_forward(calculus, 1 - layer.value_residual,
                                layer.value_residual * std::sqrt(ratio), source, before, counts);
    out.x = without_mean(x);
    const Alike<double> left = values_of(calculus, scaled(source.x, shares.own)),
                        right = values_of(calculus, scaled(before.x, shares.first * ratio));
    // No feature of the one is added to one of the other.
    out.spread = through_sum(source.spread, before.spread, left, right,
                             std::numeric_limits<double>::infinity(), counts);
    if (const double all = left.second + right.second; all > 0) {
      const double p = left.second / all, q = 1 - p;
      const double alike = p * p + q * q + 2 * p * q * follows_first(first, source);
      out.width = std::llround(static_cast<double>(source.width) / alike);
    }
    return out;
  } else {
    Signal<X> out = source;
    out.x = x;
    return out;
  }
}

/// Of the overlaps of the keys' tokens, in units of D^2, how much of them such values have in
/// common with the keys, and the first values' input alone.
struct SharedOverlap {
  double values = 1, first = 1;
};
template <class C, class X>
SharedOverlap shared_overlap(const C& calculus, const Attention& layer, const Signal<X>& own,
                             const FirstValues<X>& first, const Signal<X>& source) {
  const auto apart = [](const X& x) {
    const Alike<double> mean = average(x);
    return std::max(0.0, mean.second - mean.cross);
  };
  const ValueShares<double> shares = value_shares(calculus, layer);
  const double of_own = shares.own * apart(own.x), of_first = shares.first * apart(first.values.x);
  const double here = relative_overlap(source), there = relative_overlap(first.source);
  SharedOverlap made;
  made.first = here > 0 ? follows_first(first, source) * std::sqrt(there / here) : 0;
  if (of_own + of_first > 0) made.values = (of_own + of_first * made.first) / (of_own + of_first);
  return made;
}

/// Overlaps of the first values' input as those that move with the stream.
template <class C, class X>
OverlapDeviation first_overlaps(const C& calculus, const FirstValues<X>& first,
                                const Signal<X>& source) {
  OverlapDeviation made = overlap_deviation(calculus, first.source);
  made.coherent =
      follows_first(first, source) * std::sqrt(made.coherent * made.coherent + made.noise);
  made.noise = 0;
  return made;
}

}  // namespace scalecalc::moments
