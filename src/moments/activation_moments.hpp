#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "moments/calculus.hpp"
#include "moments/norm_variance.hpp"

/// The expectations that an activation y = phi(x) of Gaussian x is made of: of values and slopes,
/// and of what a gradient knows of its x (docs/theory/layers.md#activation).
namespace scalecalc::moments {

template <class X>
struct ActivationRecord {
  X slopes;  ///< E phi'^2 and E phi'(u)phi'(v)
  BackPassage passage;
  std::int64_t width = 0;
  double second = 0;             ///< E phi^2
  double slope_exponent = 0;     ///< of WidthMoments
  RelativeError truncation;      ///< of x
  NonNegative heavy = 0;         ///< how far the fourth moment of x is from a Gaussian's
  NonNegative heavy_slopes = 0;  ///< what E phi'^2 may be off by for that
  KindGradient kinds;            ///< what phi' makes of a gradient
  /// Of a gradient phi(u): what it passes on beyond E phi^2 E phi'^2, and how far along u.
  X own;
  double alignment = 0;
  double own_mean = 0;        ///< E phi phi', where u comes from a norm over features
  double own_slope_mean = 0;  ///< E phi phi', where u has a mean
  /// Of x about its mean: E x_t x_u, and E x_t x_u phi'(x_t) phi'(x_u). Empty for a constant x, and
  /// where not wanted.
  Seldom<SlopeCorrelation<X>> slope_correlation;
  std::shared_ptr<const StreamCells> cells;  ///< of an x that is not Gaussian
};

/// What a backward pass is going to ask of the record.
struct Wanted {
  bool slopes = false, slope_correlation = false;
};

/// E phi and E phi^2 of tokens, E phi(u)phi(v) of pairs.
template <class C, class X>
X expectations(C& calculus, const typename C::Function& phi, const X& x) {
  using T = Token<typename C::Number>;
  return map(
      x,
      [&](const T& u) {
        return T{calculus.expectation(phi, Moment::mean, u),
                 calculus.expectation(phi, Moment::second, u)};
      },
      [&](const T& u, const T& v, const auto& cross) {
        return calculus.pair(phi, Moment::cross, u, v, cross);
      });
}

template <class C, class X>
X slope_expectations(C& calculus, const typename C::Function& phi, const X& x) {
  using N = typename C::Number;
  using T = Token<N>;
  return map(
      x,
      [&](const T& u) {
        return T{N(0), calculus.expectation(phi, Moment::slope_second, u)};
      },
      [&](const T& u, const T& v, const auto& cross) {
        return calculus.pair(phi, Moment::slope_cross, u, v, cross);
      });
}

/// E phi'^2 and E phi'(u)phi'(v) of a gate u whose overlap has this variance. Of a phi that jumps
/// E phi'^2 is infinite: no gradient is asked for, and 0 stands for it. dK/dr of K(r) = E
/// phi(u)phi(v), which grows without bound towards equal tokens, is the secant over what r
/// fluctuates by.
template <class C, class X>
X gate_slopes(C& calculus, const typename C::Function& phi, const X& u,
              const typename C::Number& variance) {
  if constexpr (C::next_orders) {
    if (phi->activation().has_jump()) {
      using T = Token<double>;
      constexpr double least = 1e-3;  // of the size: of less the difference is rounding
      const auto slope = [&](const T& t, const T& v, double cross) {
        const double size = std::sqrt(variance_of(t) * variance_of(v)), mean = t.mean * v.mean;
        const double step = std::max(std::sqrt(variance), least * size);
        const double up = std::min(cross + step, mean + size),
                     down = std::max(cross - step, mean - size);
        if (!(up > down)) return 0.0;
        return (calculus.pair(phi, Moment::cross, t, v, up) -
                calculus.pair(phi, Moment::cross, t, v, down)) /
               (up - down);
      };
      return map(
          u,
          [](const T&) {
            return T{0, 0};
          },
          slope);
    }
  }
  return slope_expectations(calculus, phi, u);
}

/// E V^2/(E V)^2 over features of the variance V of phi(u) given what all tokens share: 1 where
/// they share nothing, E phi'^4/(E phi'^2)^2 of tokens that are all but one, and between by their
/// cosine as it is for phi(u) = u^2 (docs/theory/attention.md#overlap).
inline double spread_of_own(double slope_kurtosis, const Alike<double>& u) {
  const double q = u.second - u.mean * u.mean;
  const double c = q > 0 ? std::clamp((u.cross - u.mean * u.mean) / q, 0.0, 1.0) : 0;
  const double near = 2 * c / (1 + c);
  return 1 + (slope_kurtosis - 1) * near * near;
}

/// The centred overlap passes with the slope K = E phi'(u)phi'(v); n features have their own noise,
/// that of Var phi(u)phi(v)/n, in which K^2 of D^2/n is what they make of the overlap of u: V has
/// that less `fresh` already.
template <class C, class X>
Overlap<typename C::Number> overlap_through_activation(const C& calculus, const Signal<X>& in,
                                                       const X& slopes, const X& y,
                                                       double slope_kurtosis) {
  using N = typename C::Number;
  const auto slope = average(slopes).cross;
  const auto moments = average(y);
  const N apart = moments.second - moments.cross, square = moments.mean * moments.mean;
  const N centred = moments.second - square;
  // Var phi(u)phi(v) of independent u and v is m^2 - mean^4, D = m - mean^2 there.
  N own = apart * apart;
  if constexpr (C::next_orders) {
    if (calculus.value(centred) > 0)
      own = own * (spread_of_own(slope_kurtosis, values_of(calculus, in.x)) + 2 * square / centred);
  }
  N noise = own / calculus.size(in.width, "width");
  if constexpr (C::next_orders) {
    const double known =
        fresh_overlap(values_of(calculus, in.x), 2, static_cast<double>(in.width)) - in.fresh;
    if (known > 0) noise = std::max(0.0, noise - slope * slope * known);
  }
  return {in.overlap.coherent * slope, in.overlap.noise * slope * slope + noise};
}

/// A gradient phi(u) becomes phi'(u) phi(u): E phi'^2 phi^2 in place of the product, of which
/// E u phi phi'/q goes along u.
template <class C, class X>
void note_own_gradient(C& calculus, const WidthMoments& moments, const X& x, const X& y,
                       ActivationRecord<X>& record) {
  using N = typename C::Number;
  using T = Token<N>;
  const Alike<double> from = values_of(calculus, x), to = values_of(calculus, y);
  const double q = from.second - from.mean * from.mean;
  record.alignment = q > 0 ? moments.exponent * to.second / q : 0;
  const X whole = map(
      x,
      [&](const T&) {
        return T{N(0), calculus.real(moments.own_pair(1))};
      },
      [&](const T& t, const T& u, const N& cross) {
        const double s = calculus.value(t.second), v = calculus.value(u.second);
        const double c = s * v > 0 ? calculus.value(cross) / std::sqrt(s * v) : 0;
        return calculus.real(moments.own_pair(std::clamp(c, -1.0, 1.0)));
      });
  const X apart = product(y, record.slopes);
  record.own = without_mean(combine(whole, apart, [](const N& a, const N& b) { return N(a - b); }));
}

/// E phi phi' = (d/dmu) E phi^2/2.
template <class C>
double mean_of_own_gradient(C& calculus, const typename C::Function& phi, const Alike<double>& x) {
  const double variance = x.second - x.mean * x.mean, step = 0.05 * std::sqrt(variance);
  const auto second = [&](double mean) {
    return calculus.expectation(phi, Moment::second, Token<double>{mean, mean * mean + variance});
  };
  return step > 0 ? (second(x.mean + step) - second(x.mean - step)) / (4 * step) : 0;
}

template <class C, class X>
SlopeCorrelation<X> slope_correlation_of(C& calculus, const WidthMoments& moments, const X& x) {
  using N = typename C::Number;
  using T = Token<N>;
  const X input = map(
      x,
      [&](const T& u) {
        return T{N(0), variance_of(u)};
      },
      [](const T& t, const T& u, const N& cross) { return N(cross - t.mean * u.mean); });
  const X product = map(
      input,
      [&](const T&) {
        return T{N(0), calculus.real(moments.input_slope_pair(1))};
      },
      [&](const T& t, const T& u, const N& cross) {
        const double size = std::sqrt(calculus.value(t.second) * calculus.value(u.second));
        const double c = size > 0 ? std::clamp(calculus.value(cross) / size, -1.0, 1.0) : 0;
        return calculus.real(moments.input_slope_pair(c));
      });
  return {input, product, moments.slope_kurtosis - 1};
}

/// K - r dK/dr of K(r) = E phi(u)phi(v) at a correlation c, over (E phi)^2: what is left of the
/// bend of that part where r has the sizes of both tokens already. 1 of independent tokens, 0 of
/// equal ones where phi is homogeneous.
inline double beside_slope(const WidthMoments& phi, double q, double c) {
  double value = 0, slope = 0, power = 1, rest = q * phi.slope;
  const auto& series = phi.pair_series;
  for (std::size_t n = 0; n + 1 < series.size(); ++n, power *= c) {
    const auto order = static_cast<double>(n);
    value += series[n] * power;
    slope += order * series[n] * power;
    rest -= order * series[n];
  }
  const double left = value + series.back() * power - slope - std::max(rest, 0.0) * power;
  return series[0] > 0 && std::isfinite(left) ? std::clamp(left / series[0], 0.0, 1.0) : 0;
}

}  // namespace scalecalc::moments
