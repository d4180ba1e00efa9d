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

/// What single samples that differ in size add, whose relative variance is `apart` beyond that of
/// Gaussian ones: half of it times q^2 d^2/dq^2 of each average, in the size of one sample; of
/// slopes where they are wanted.
template <class C>
SphereExcess size_scatter(C& calculus, const typename C::Function& phi, const Alike<double>& x,
                          double apart, bool slopes) {
  constexpr double step = 0.25;
  const Token<double> u{0, x.second}, up{0, x.second * (1 + step)}, down{0, x.second * (1 - step)};
  const auto bend = [&](const auto& of) {
    return (of(up) + of(down) - 2 * of(u)) / (step * step) * apart / 2;
  };
  const auto one = [&](Moment moment) {
    return bend([&](const Token<double>& at) { return calculus.expectation(phi, moment, at); });
  };
  // Either sample has a size of its own; E x x' is `cross` with them, so the cosine of samples of
  // one size is larger.
  const double larger =
      1 / (1 + 2 * bend([&](const Token<double>& at) { return std::sqrt(at.second / x.second); }));
  const auto two = [&](Moment moment, double cross) {
    const double own = std::clamp(cross * larger, -x.second, x.second);
    return calculus.pair(phi, moment, u, u, own) - calculus.pair(phi, moment, u, u, cross) +
           2 * bend([&](const Token<double>& at) {
             const double ratio = std::sqrt(at.second / x.second);
             const Token<double> both{0, x.second * ratio};
             return calculus.pair(phi, moment, both, both, own * ratio);
           });
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

/// Two tokens of cosine c have c^2 of the variance of their sizes together, so that of two that are
/// one nothing is left.
inline SphereExcess of_tokens_apart(SphereExcess excess, const Alike<double>& x) {
  const auto apart = [&](double cross) {
    const double c = x.second > 0 ? std::clamp(cross / x.second, -1.0, 1.0) : 1;
    return 1 - c * c;
  };
  for (Alike<double>* one : {&excess.values, &excess.slopes}) {
    one->cross *= apart(x.cross);
    one->between *= apart(x.between);
  }
  return excess;
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
               apart = tokens + in.size_excess - in.sphere_excess;
  const double counted = calculus.width(phi, 0, x.second).curvature / 2 * tokens;
  SphereExcess scatter = size_scatter(calculus, phi, x, apart, has_slopes(record));
  if (in.normalised) scatter = of_tokens_apart(scatter, x);
  scatter.values =
      sum(scatter.values,
          scaled(Alike<double>{from.mean / 2, from.second, from.cross, from.between}, -counted));
  add_excess(calculus, scatter, apart, record, y);
}

}  // namespace scalecalc::moments
