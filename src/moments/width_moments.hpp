#pragma once

#include <array>

#include "scalecalc/activation.hpp"

namespace scalecalc::moments {

/// The sizes of phi and phi' at N(mean, q) and how far averages over features fluctuate from them.
/// f = E phi^2, h = E phi'^2.
struct SizeMoments {
  double second = 0;          ///< f
  double slope = 0;           ///< h
  double kurtosis = 1;        ///< E phi^4 / f^2
  double third = 0;           ///< third cumulant of phi^2/f
  double slope_kurtosis = 1;  ///< E phi'^4 / h^2
  double slope_sixth = 1;     ///< E phi'^6 / h^3
};
SizeMoments size_moments(const Activation& activation, double mean, double variance);

/// What a finite number of features needs to know of phi at N(mean, q), from one trapezoid sum (to
/// four digits and more: these only ever multiply 1/n).
struct WidthMoments : SizeMoments {
  double exponent = 0;        ///< d ln f / d ln q
  double curvature = 0;       ///< q^2 f'' / f
  double skew = 0;            ///< third cumulant of phi over its deviation^3
  double skew_effect = 0;     ///< d ln f / d of the skew of u: E phi^2 He3/(6 f)
  double slope_exponent = 0;  ///< d ln h / d ln q
  /// Cov(phi^2(u), phi^2(v))/f^2 = sum over n >= 1 of series[n] c^n; the last stands for the rest.
  std::array<double, 14> series{};
  double covariance(double correlation) const;
  /// Var phi, its d ln/d ln q, and E (phi - E phi)^4 over its square.
  double variance = 0, variance_exponent = 0, centred_kurtosis = 1;
  double mean_curvature = 0;  ///< q^2 d^2 E phi/dq^2
  /// E phi^3(u) phi(v) and q dE phi(u)phi(v)/dq_u of two inputs of this variance, sums over n of
  /// series[n] c^n; and E (phi - E phi)^3(u) phi(v).
  std::array<double, 14> third_series{}, rise_series{}, centred_third_series{};
  std::array<double, 14> pair_series{};  ///< E phi(u)phi(v)
  /// How ln phi^2(u) varies with phi(u)phi(v), at a correlation: of `noise` one feature's
  /// covariance over the product of means, of `rise` d ln E phi(u)phi(v)/d ln q_u, of `slope` that
  /// by the logarithm of the correlation. 0 where that mean is about 0.
  struct Lean {
    double noise = 0, rise = 0, slope = 0;
  };
  Lean lean(double correlation) const;
  Lean centred_lean(double correlation) const;  ///< of phi - E phi
  /// E F(u)F(v) = sum own[n] c^n of F = phi phi', the last for the rest.
  std::array<double, 14> own{};
  double own_pair(double correlation) const;
  /// The same of F = (u - mean) phi'.
  std::array<double, 14> input_slope{};
  double input_slope_pair(double correlation) const;
};

WidthMoments width_moments(const Activation& activation, double mean, double variance);

}  // namespace scalecalc::moments
