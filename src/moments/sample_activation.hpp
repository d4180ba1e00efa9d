#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "moments/activation_moments.hpp"
#include "moments/sphere_samples.hpp"

/// Activations right behind a norm over samples (docs/theory/layers.md#sphere), and over features
/// (docs/theory/layers.md#token-sphere).
namespace scalecalc::moments {

/// Slopes that a forward pass alone has not asked for are empty.
template <class X>
bool has_slopes(const ActivationRecord<X>& record) {
  if constexpr (std::is_same_v<X, PerPosition>) return record.slopes.positions != nullptr;
  return average(record.slopes).second > 0;
}

/// `excess` is added to the averages of what comes out. The next order has `size` beside it.
template <class C, class X>
void add_excess(C& calculus, const SphereExcess& excess, double size, ActivationRecord<X>& record,
                X& y) {
  const auto add = [](X& to, const Alike<double>& more) { to = sum(to, uniform(to, more)); };
  add(y, excess.values);
  if (has_slopes(record)) add(record.slopes, excess.slopes);
  if (record.slope_correlation) add(record.slope_correlation->product, excess.input_slope);
  const double second = values_of(calculus, y).second;
  if (second > 0)
    calculus.omit(std::fabs(size * excess.values.second) / second,
                  std::fabs(size * excess.values.cross) / second);
}

/// Single samples that differ in size, of a relative variance `apart` beyond that of Gaussian ones:
/// half of it times q^2 d^2/dq^2 of an average, in the size of one sample.
class ScatteredSizes {
 public:
  ScatteredSizes(double variance, double apart) : variance_(variance), apart_(apart) {
    larger_ = 1 / (1 + 2 * bend([&](double q) { return std::sqrt(q / variance_); }));
  }
  /// Of f of a sample's variance.
  template <class F>
  double one(const F& f) const {
    return bend(f);
  }
  /// Of f of the variance of both samples, and of E x x'. Either has a size of its own; E x x' is
  /// `cross` with them, so the cosine of samples of one size is larger.
  template <class F>
  double two(const F& f, double cross) const {
    const double own = std::clamp(cross * larger_, -variance_, variance_);
    return f(variance_, own) - f(variance_, cross) + 2 * bend([&](double q) {
                                                       const double ratio =
                                                           std::sqrt(q / variance_);
                                                       return f(variance_ * ratio, own * ratio);
                                                     });
  }
  /// The same of two tokens of cosine c, which have c^2 of the variance of their sizes together: of
  /// two that are one it is what one has.
  template <class F>
  double two_tokens(const F& f, double cross) const {
    const double c = std::clamp(cross / variance_, -1.0, 1.0);
    const double together = bend([&](double q) { return f(q, std::clamp(c * q, -q, q)); });
    return (1 - c * c) * two(f, cross) + c * c * together;
  }

 private:
  static constexpr double step = 0.25;

  template <class F>
  double bend(const F& f) const {
    return (f(variance_ * (1 + step)) + f(variance_ * (1 - step)) - 2 * f(variance_)) /
           (step * step) * apart_ / 2;
  }

  double variance_, apart_, larger_ = 1;
};

/// What sizes add to the averages of phi, and of its slopes where they are wanted; of tokens, or of
/// samples of a feature.
template <class C>
SphereExcess size_scatter(C& calculus, const typename C::Function& phi, const Alike<double>& x,
                          double apart, bool slopes, bool tokens) {
  const ScatteredSizes sizes(x.second, apart);
  const auto one = [&](Moment moment) {
    return sizes.one([&](double q) {
      return calculus.expectation(phi, moment, Token<double>{0, q});
    });
  };
  const auto two = [&](Moment moment, double cross) {
    const auto of = [&](double q, double r) {
      const Token<double> u{0, q};
      return calculus.pair(phi, moment, u, u, r);
    };
    return tokens ? sizes.two_tokens(of, cross) : sizes.two(of, cross);
  };
  // Two sizes are taken as their geometric mean, which leaves (ln of their ratio)^2/8 out.
  calculus.omit(0, std::fabs(apart) / 4);
  SphereExcess excess;
  excess.values = {one(Moment::mean), one(Moment::second), two(Moment::cross, x.cross),
                   two(Moment::cross, x.between)};
  if (slopes)
    excess.slopes = {0, one(Moment::slope_second), two(Moment::slope_cross, x.cross),
                     two(Moment::slope_cross, x.between)};
  return excess;
}

/// Of f ~ q^p, n = -2/apart features of one size have (n/2)^p G(n/2)/G(n/2 + p) of what Gaussian
/// ones have: beyond 1 - p (p - 1)/n, by the p that f has at `variance`.
template <class F>
double beyond_first_order(const F& f, double variance, double apart) {
  constexpr double step = 0.1;
  const double up = f(variance * (1 + step)), down = f(variance * (1 - step));
  if (!(apart < 0 && up > 0 && down > 0)) return 0;
  const double p = std::log(up / down) / std::log((1 + step) / (1 - step)), half = -1 / apart;
  if (!(half + p > 0)) return 0;
  const double ratio = std::exp(p * std::log(half) + std::lgamma(half) - std::lgamma(half + p));
  return f(variance) * (ratio - 1 - p * (p - 1) * apart / 2);
}
/// What tokens of one size, behind a norm over n features, make of E F(u)F(v), F = phi phi'.
template <class C>
Alike<double> own_scatter(C& calculus, const typename C::Function& phi, const Alike<double>& x,
                          double apart) {
  const ScatteredSizes sizes(x.second, apart);
  const auto of = [&](double q, double r) {
    return calculus.width(phi, 0, q).own_pair(std::clamp(r / q, -1.0, 1.0));
  };
  const auto own = [&](double q) { return of(q, q); };
  const double second = sizes.one(own) + beyond_first_order(own, x.second, apart);
  return {0, second, sizes.two_tokens(of, x.cross), sizes.two_tokens(of, x.between)};
}

/// Relative variance of what single samples differ in size by, beside what a norm over samples
/// does. A sample's fourth moment is that of its token's size times that of a feature which its own
/// norm has divided.
template <class X>
double apart_of_tokens(const Signal<X>& in) {
  const double tokens = in.spread.token_variance - 2 / static_cast<double>(in.width);
  return (1 + tokens) * (1 + in.size_excess) - (1 + in.sphere_excess);
}

/// Samples of a feature are a point of a sphere behind a norm over them. What single samples differ
/// in size by beside that is their tokens', less what the norm has taken: of Gaussian tokens it is
/// nothing. What sizes of tokens do to E phi^2 is in the draw's own scale.
template <class C, class X>
void add_sample_excess(C& calculus, const typename C::Function& phi, const Signal<X>& in,
                       ActivationRecord<X>& record, X& y) {
  const Alike<double> x = values_of(calculus, in.x), from = values_of(calculus, y);
  add_excess(calculus, sphere_excess(phi->activation(), x, in.sphere_excess), in.sphere_excess,
             record, y);
  const double tokens = in.spread.token_variance - 2 / static_cast<double>(in.width),
               apart = apart_of_tokens(in);
  const double counted = calculus.width(phi, 0, x.second).curvature / 2 * tokens;
  SphereExcess scatter = size_scatter(calculus, phi, x, apart, has_slopes(record), in.normalised);
  scatter.values =
      sum(scatter.values,
          scaled(Alike<double>{from.mean / 2, from.second, from.cross, from.between}, -counted));
  add_excess(calculus, scatter, apart, record, y);
}

}  // namespace scalecalc::moments
