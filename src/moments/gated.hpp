#pragma once

#include <cmath>

#include "moments/activation.hpp"
#include "moments/words.hpp"

/// y = phi(u) w with u, w linear maps of one x (docs/theory/layers.md#gated): m' = E phi^2 m_w, r'
/// = K(c) r_w + V_R dK/dr_u, the last because both see the same realised overlap of x.
namespace scalecalc::moments {

template <class X>
struct GatedRecord {
  X kernel;  ///< E phi^2 and E phi(u)phi(v)
  X slopes;  ///< E phi'^2, E phi'(u)phi'(v), each times the moments of w
  Spread spread;
  double exponent = 1;  ///< d ln E y^2/d ln E x^2
  /// Relative fourth moments of what gradients at w and at u are multiplied by: phi, and phi' w.
  double in_kurtosis = 3, gate_kurtosis = 3;
};

template <class C, class X>
Signal<X> gated_forward(C& calculus, const typename C::Function& phi, const Signal<X>& gate,
                        const Signal<X>& in, const Counts& counts, GatedRecord<X>& record) {
  using N = typename C::Number;
  using T = Token<N>;
  using std::sqrt;
  const bool words = has_words(gate);
  const auto seen = [&](const Signal<X>& x) { return words ? of_words(x.x, x.repeats) : x.x; };
  const auto whole = [&](const X& x) { return words ? with_words(x, gate.repeats) : x; };
  const X u = seen(gate), w_x = seen(in);
  const X slopes = slope_expectations(calculus, phi, u), kernels = expectations(calculus, phi, u);
  record.kernel = whole(kernels);
  record.slopes = whole(product(slopes, w_x));
  Signal<X> out = gate;
  out.normalised = false;
  out.x = zip(
      kernels, w_x,
      [](const T& k, const T& w) {
        return T{N(0), k.second * w.second};
      },
      [](const T&, const T&, const N& k, const N& w) { return N(k * w); });
  const auto slope = average(slopes), kernel = average(kernels), w = average(w_x);
  const Overlap<N> gates = words ? of_words(gate).overlap : gate.overlap;
  const Overlap<N> ins = words ? of_words(in).overlap : in.overlap;
  const N apart = kernel.second * w.second - kernel.cross * w.cross;
  out.overlap = {gates.coherent * slope.cross * w.cross + ins.coherent * kernel.cross,
                 2 * apart * apart / calculus.size(gate.width, "width")};
  if constexpr (C::next_orders) {
    const N realised = sqrt(gates.variance() * ins.variance());
    out.x = whole(with_bounded_cross(sum_cross(out.x, scaled(slopes, realised))));
    if (words) add_word_overlap(gate.repeats, out);
    const Alike<double> g = values_of(calculus, gate.x);
    const WidthMoments& moments = calculus.width(phi, g.mean, g.second - g.mean * g.mean);
    record.spread = gate.spread;
    out.kurtosis = 3 * moments.kurtosis;
    record.exponent = 1 + moments.exponent;
    record.in_kurtosis = moments.kurtosis;
    record.gate_kurtosis = 3 * moments.slope_kurtosis;
    out.spread = through_gate(gate.spread, moments, g, static_cast<double>(gate.width), counts);
    for (Doubt* doubt : {&out.error, &out.truncation}) {
      doubt->second *= 1 + moments.exponent;
      doubt->cross *= 1 + moments.exponent;
    }
    const LogSize size = log_size(gate.spread, static_cast<double>(gate.width));
    const double e = record.exponent;
    if (gate.spread.far > 0 || part_ways(size.variance, e)) {
      const double far =
          gate.spread.far > 0
              ? gate.spread.far
              : std::max(0.0, size.mean) + far_deviations * std::sqrt(std::max(0.0, size.variance));
      out.spread = apart_ways(gate.spread, std::min(e * far, largest_log),
                              3 * moments.kurtosis / static_cast<double>(gate.width));
      out.truncation = doubt_of(out.spread.far);
      calculus.assume("gated unit", "draws of this width part ways: some die, some grow",
                      "variance of ln E x^2 where its map is steeper than 1", size.variance, 1);
    }
    calculus.assume("gated unit", "the two factors are independent given the input");
    calculus.omit(0, calculus.value(gates.variance()) / (2 * g.second * g.second));
  }
  return out;
}

template <class X>
struct GatedGradient {
  X gate, in;
};
template <class X>
GatedGradient<X> gated_backward(const GatedRecord<X>& record, const X& gradient) {
  return {product(gradient, record.slopes), product(gradient, record.kernel)};
}

}  // namespace scalecalc::moments
