#pragma once

#include "base/philox.hpp"

/// The inverse of the normal distribution function Phi: Wichura 1988, algorithm AS 241 (PPND16),
/// three rational approximations of about 16 digits.
namespace scalecalc::tensor {

/// |p - 1/2| up to which the central approximation holds.
inline constexpr double kCentralHalfWidth = 0.425;
/// e^-25: below it sqrt(-ln p) exceeds 5 and the third approximation takes over.
inline constexpr double kFarTail = 1.3887943864964021e-11;

/// Phi^-1(1/2 + q) for |q| <= 0.425.
SCALECALC_HOST_DEVICE static inline double normal_central(double q) {
  const double r = 0.180625 - q * q;
  double a = 2.5090809287301226727e+3;
  a = a * r + 3.3430575583588128105e+4;
  a = a * r + 6.7265770927008700853e+4;
  a = a * r + 4.5921953931549871457e+4;
  a = a * r + 1.3731693765509461125e+4;
  a = a * r + 1.9715909503065514427e+3;
  a = a * r + 1.3314166789178437745e+2;
  a = a * r + 3.3871328727963666080e+0;
  double b = 5.2264952788528545610e+3;
  b = b * r + 2.8729085735721942674e+4;
  b = b * r + 3.9307895800092710610e+4;
  b = b * r + 2.1213794301586595867e+4;
  b = b * r + 5.3941960214247511077e+3;
  b = b * r + 6.8718700749205790830e+2;
  b = b * r + 4.2313330701600911252e+1;
  b = b * r + 1.0;
  return q * a / b;
}

/// -Phi^-1(p) for e^-25 <= p <= 0.075.
SCALECALC_HOST_DEVICE static inline double normal_tail(double p) {
  const double r = std::sqrt(-base::log_ieee(p)) - 1.6;
  double a = 7.74545014278341407640e-4;
  a = a * r + 2.27238449892691845833e-2;
  a = a * r + 2.41780725177450611770e-1;
  a = a * r + 1.27045825245236838258e+0;
  a = a * r + 3.64784832476320460504e+0;
  a = a * r + 5.76949722146069140550e+0;
  a = a * r + 4.63033784615654529590e+0;
  a = a * r + 1.42343711074968357734e+0;
  double b = 1.05075007164441684324e-9;
  b = b * r + 5.47593808499534494600e-4;
  b = b * r + 1.51986665636164571966e-2;
  b = b * r + 1.48103976427480074590e-1;
  b = b * r + 6.89767334985100004550e-1;
  b = b * r + 1.67638483018380384940e+0;
  b = b * r + 2.05319162663775882187e+0;
  b = b * r + 1.0;
  return a / b;
}

/// -Phi^-1(p) for 2^-1022 <= p < e^-25.
SCALECALC_HOST_DEVICE static inline double normal_far_tail(double p) {
  const double r = std::sqrt(-base::log_ieee(p)) - 5.0;
  double a = 2.01033439929228813265e-7;
  a = a * r + 2.71155556874348757815e-5;
  a = a * r + 1.24266094738807843860e-3;
  a = a * r + 2.65321895265761230930e-2;
  a = a * r + 2.96560571828504891230e-1;
  a = a * r + 1.78482653991729133580e+0;
  a = a * r + 5.46378491116411436990e+0;
  a = a * r + 6.65790464350110377720e+0;
  double b = 2.04426310338993978564e-15;
  b = b * r + 1.42151175831644588870e-7;
  b = b * r + 1.84631831751005468180e-5;
  b = b * r + 7.86869131145613259100e-4;
  b = b * r + 1.48753612908506148525e-2;
  b = b * r + 1.36929880922735805310e-1;
  b = b * r + 5.99832206555887937690e-1;
  b = b * r + 1.0;
  return a / b;
}

/// Phi^-1(p) for 0 < p < 1.
SCALECALC_HOST_DEVICE static inline double inverse_normal_ieee(double p) {
  const double q = p - 0.5;
  if (q >= -kCentralHalfWidth && q <= kCentralHalfWidth) return normal_central(q);
  const double tail = q < 0.0 ? p : 1.0 - p;
  const double z = tail < kFarTail ? normal_far_tail(tail) : normal_tail(tail);
  return q < 0.0 ? -z : z;
}

}  // namespace scalecalc::tensor
