#pragma once

#include <algorithm>
#include <cmath>

#include "moments/activation_error.hpp"
#include "moments/activation_moments.hpp"
#include "moments/overlap_slope.hpp"

/// What averages of an activation bend by, over overlaps (docs/theory/layers.md#bend) and sizes
/// (docs/theory/layers.md#size-bend) of tokens that fluctuate.
namespace scalecalc::moments {

/// To E phi(u)phi(v), what it bends over overlaps of u and v that fluctuate
/// (docs/theory/layers.md#bend); `in`: of different words, which are all but `same` of the pairs.
/// The variance that the bend gives to the overlap of what comes out.
template <class C, class X>
double add_bend(C& calculus, const typename C::Function& phi, const Signal<X>& in, double same,
                const Counts& counts, X& y) {
  const Alike<double> x = values_of(calculus, in.x);
  const OverlapDeviation overlap = overlap_deviation(calculus, in);
  const double variance = overlap.coherent * overlap.coherent + overlap.noise;
  const double two = variance * overlap.apart * overlap.apart;
  const auto bend = [&](double cross, double of, double count) {
    Bend made = count > 1 ? bend_of_pair(calculus, phi, x, cross, of) : Bend{};
    made.value *= 1 - same;
    return made;
  };
  const Bend within = bend(x.cross, variance, counts.tokens),
             between = bend(x.between, two, counts.batch);
  // Equal words whose tokens are no longer equal differ in size as they do in overlap.
  const bool by_words = in.repeats > 0;
  const auto rule = [&](const Bend& of) { return of.fits && !by_words ? of.value : 0; };
  const Alike<double> more{0, 0, rule(within), rule(between)};
  if (more.cross != 0 || more.between != 0) y = with_bounded_cross(sum_cross(y, uniform(y, more)));
  // What an overlap's third cumulant bends is its skewness of that, which is no more than its
  // deviation over what tokens differ by.
  const double apart = x.second - x.cross, second = values_of(calculus, y).second;
  const double left =
      within.fits && !by_words && apart > 0 ? std::min(1.0, std::sqrt(variance) / apart) : 1;
  if (second > 0) calculus.omit(0, std::fabs(within.value) / second * left);
  const double kept = rule(within);
  return 2 * kept * kept;
}

/// Of pairs of tokens the part (E phi)^2 bends with the size of u, of which each has its own: E
/// phi_t E phi_u has q^2 d^2 E phi/dq^2 of its relative `variance` v as often as E phi, as far as
/// two tokens differ in size, no more than 1 - c^2 (docs/theory/layers.md#size-bend). Crosses
/// alone.
template <class X>
Alike<double> size_bend(const WidthMoments& phi, double variance, const NormVariance& spread,
                        const Alike<double>& x, const Counts& counts, double width, const X& y) {
  const double v = std::max(0.0, variance), mean = average(y).mean, q = x.second - x.mean * x.mean;
  if (!(v > 0 && q > 0) || mean == 0) return {};
  // The mean shift of the spread has the bend of E phi^2 for all.
  const double bend = (phi.mean_curvature - mean * phi.curvature / 2) / 2 * std::min(v, 1.0);
  const double all = spread.batch_variance - 2 / width * pairs_squared(x, counts);
  const double apart = std::clamp(1 - between_tokens(v, all, counts) / v, 0.0, 1.0);
  const double most = std::fabs(mean) / 2, kept = std::clamp(bend, -most, most);
  const auto pair = [&](double cross) {
    const double c = std::clamp((cross - x.mean * x.mean) / q, -1.0, 1.0);
    return (2 * mean * kept + kept * kept) * std::min(apart, 1 - c * c) * beside_slope(phi, q, c);
  };
  return {0, 0, pair(x.cross), pair(x.between)};
}

}  // namespace scalecalc::moments
