#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "moments/activation_moments.hpp"
#include "moments/calculus.hpp"
#include "moments/mixture.hpp"

/// phi of features that dropout has cut up (mixture.hpp): the means of what it is for each kind of
/// feature, and of each pair of kinds.
namespace scalecalc::moments {

/// Kinds scale variances, so features have no mean: behind an activation they are not normal given
/// the masks anyway.
inline bool mixes(const Mixture& mixture, const Alike<double>& x) {
  constexpr double rounding = 1e-12;
  return !mixture.plain() && x.mean * x.mean <= rounding * x.second;
}

/// At a feature that is 0: passes take the left slope of relu and selu there, as frameworks do, and
/// of others that of Activation::slope.
template <class C>
double mixed_single(C& calculus, const typename C::Function& phi, Moment moment, double variance) {
  if (variance > 0) return calculus.expectation(phi, moment, Token<double>{0, variance});
  const Activation& activation = phi->activation();
  const double value = activation.value(0);
  const bool left = activation.name() == "relu" || activation.name() == "selu";
  const double slope = activation.slope(left ? -std::numeric_limits<double>::min() : 0);
  switch (moment) {
    case Moment::mean: return value;
    case Moment::second: return value * value;
    case Moment::slope_mean: return slope;
    default: return slope * slope;
  }
}

/// E phi phi, or E phi' phi', of two tokens; a feature that is 0 is independent of any.
template <class C>
double mixed_pair(C& calculus, const typename C::Function& phi, Moment pair, double a, double b,
                  double cross) {
  if (a > 0 && b > 0)
    return calculus.pair(phi, pair, Token<double>{0, a}, Token<double>{0, b}, cross);
  const Moment mean = pair == Moment::cross ? Moment::mean : Moment::slope_mean;
  return mixed_single(calculus, phi, mean, a) * mixed_single(calculus, phi, mean, b);
}

/// `second` of each kind, `pair` of two.
template <class C, class X>
X mixed_expectations(C& calculus, const typename C::Function& phi, const Mixture& mixture,
                     const X& x, Moment second, Moment pair) {
  using T = Token<double>;
  const Eigen::ArrayXd& w = mixture.weight;
  return map(
      x,
      [&](const T& u) {
        T sum;
        for (Eigen::Index i = 0; i < w.size(); ++i) {
          const double variance = mixture.variance[i] * u.second;
          if (pair == Moment::cross)
            sum.mean += w[i] * mixed_single(calculus, phi, Moment::mean, variance);
          sum.second += w[i] * mixed_single(calculus, phi, second, variance);
        }
        return sum;
      },
      [&](const T& t, const T& u, double cross) {
        double sum = 0;
        for (Eigen::Index i = 0; i < w.size(); ++i)
          for (Eigen::Index k = 0; k < w.size(); ++k)
            sum += w[i] * w[k] *
                   mixed_pair(calculus, phi, pair, mixture.variance[i] * t.second,
                              mixture.variance[k] * u.second, mixture.cross(i, k) * cross);
        return sum;
      });
}

/// Of each kind, and of pairs of them, at the averages `x`.
struct KindSizes {
  Eigen::ArrayXd second;
  Eigen::ArrayXXd cross;
};
template <class C>
KindSizes kind_sizes(C& calculus, const typename C::Function& phi, const Mixture& mixture,
                     const Alike<double>& x, Moment second, Moment pair) {
  const Eigen::Index kinds = mixture.weight.size();
  KindSizes sizes{Eigen::ArrayXd(kinds), Eigen::ArrayXXd(kinds, kinds)};
  for (Eigen::Index i = 0; i < kinds; ++i) {
    const double variance = mixture.variance[i] * x.second;
    sizes.second[i] = mixed_single(calculus, phi, second, variance);
    for (Eigen::Index k = 0; k < kinds; ++k)
      sizes.cross(i, k) = mixed_pair(calculus, phi, pair, variance, mixture.variance[k] * x.second,
                                     mixture.cross(i, k) * x.cross);
  }
  return sizes;
}

/// note_own_gradient of kinds of features, F = phi phi'; two of different kinds as of the geometric
/// mean of their variances.
template <class C, class X>
void note_mixed_own(C& calculus, const typename C::Function& phi, const Mixture& mixture,
                    const X& x, const X& y, ActivationRecord<X>& record) {
  using T = Token<double>;
  const Eigen::ArrayXd& w = mixture.weight;
  const double at_zero = mixed_single(calculus, phi, Moment::mean, 0) *
                         mixed_single(calculus, phi, Moment::slope_mean, 0);
  // Of one in 16 to the e sizes, and as a power of it in between: pairs of positions have as many.
  const auto own = [&](double variance, double c) {
    if (!(variance > 0)) return at_zero * at_zero;
    constexpr double steps = 16;
    const double near = std::exp(std::round(std::log(variance) * steps) / steps);
    const WidthMoments& at = calculus.width(phi, 0, near);
    return at.own_pair(std::clamp(c, -1.0, 1.0)) * std::pow(variance / near, 2 * at.exponent - 1);
  };
  const X whole = map(
      x,
      [&](const T& u) {
        double sum = 0;
        for (Eigen::Index i = 0; i < w.size(); ++i)
          sum += w[i] * own(mixture.variance[i] * u.second, 1);
        return T{0, sum};
      },
      [&](const T& t, const T& u, double cross) {
        double sum = 0;
        for (Eigen::Index i = 0; i < w.size(); ++i)
          for (Eigen::Index k = 0; k < w.size(); ++k) {
            const double size =
                std::sqrt(mixture.variance[i] * t.second * mixture.variance[k] * u.second);
            sum += w[i] * w[k] * own(size, size > 0 ? mixture.cross(i, k) * cross / size : 0);
          }
        return sum;
      });
  record.own = without_mean(sum(whole, scaled(product(y, record.slopes), -1)));
  const double q = values_of(calculus, x).second;
  if (!(q > 0)) return;
  record.alignment = 0;
  for (Eigen::Index i = 0; i < w.size(); ++i)
    if (mixture.variance[i] > 0) {
      const WidthMoments& kind = calculus.width(phi, 0, mixture.variance[i] * q);
      record.alignment += w[i] * kind.exponent * kind.second / q;
    }
}

/// What phi' of each kind makes of a gradient.
inline KindGradient kinds_of(const KindSizes& slopes, const Mixture& mixture) {
  KindGradient made{slopes.second, (slopes.cross.matrix() * mixture.weight.matrix()).array()};
  normalise(made, mixture.weight);
  return made;
}

}  // namespace scalecalc::moments
