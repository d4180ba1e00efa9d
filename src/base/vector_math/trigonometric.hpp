#pragma once

#include <cmath>

#include "base/vector_math/lanes.hpp"

/// sin and cos.
namespace scalecalc::base::vector_math {
inline namespace SCALECALC_LANES_NAMESPACE {

namespace detail {

/// Past this the reduction below has too few bits of pi, and the C library takes over.
inline constexpr double largest_angle = 1e5;

/// pi/2 in three parts of 33 bits and a rest: their products with n <= 2^16 are exact.
inline constexpr double half_pi_1 = 0x1.921fb54400000p+0, half_pi_2 = 0x1.0b4611a600000p-34,
                        half_pi_3 = 0x1.3198a2e037073p-69;

/// sin(r + low) and cos(r + low) for |r| <= pi/4, by their Taylor series.
struct Wave {
  Real sine, cosine;
};
inline Wave wave(const Real& r, const Real& low) {
  static constexpr double s[] = {
      -1.0 / 6,        1.0 / 120,         -1.0 / 5040,           1.0 / 362880,
      -1.0 / 39916800, 1.0 / 6227020800., -1.0 / 1307674368000., 1.0 / 355687428096000.};
  static constexpr double c[] = {
      1.0 / 24,        -1.0 / 720,          1.0 / 40320,          -1.0 / 3628800,
      1.0 / 479001600, -1.0 / 87178291200., 1.0 / 20922789888000.};
  const Real z = r * r, half = 0.5 * z;
  const Real sine = r + (r * z * polynomial(z, s) + low * (1.0 - half));
  const Real near_one = 1.0 - half;
  const Real cosine = near_one + (((1.0 - near_one) - half) + (z * z * polynomial(z, c) - r * low));
  return {sine, cosine};
}

/// sin(x + turns pi/2)
inline Real shifted_sine(const Real& x, std::int64_t turns) {
  const Rounded n = round_to_integer(clamp(x, -largest_angle, largest_angle) * 0.6366197723675814);
  const Real first = (x - n.value * half_pi_1) - n.value * half_pi_2;
  const Real last = n.value * half_pi_3, rest = first - last;
  const Wave at = wave(rest, (first - rest) - last);
  const Int quarter = n.integer + turns;
  const Int odd = (quarter & 1) != 0, down = (quarter & 2) != 0;
  const Real size = odd ? at.cosine : at.sine;
  return down ? -size : size;
}

inline Real with_library(Real value, const Real& x, double (*function)(double)) {
  const Int far = abs(x) > largest_angle;
  if (!any(far)) return value;
  for (std::size_t k = 0; k < lanes; ++k) {
    if (far[k]) value[k] = function(x[k]);
  }
  return value;
}

}  // namespace detail

inline Real sin(const Real& x) {
  const Real value = detail::with_library(detail::shifted_sine(x, 0), x, std::sin);
  return abs(x) < 0x1p-27 ? x : value;
}
inline Real cos(const Real& x) {
  return detail::with_library(detail::shifted_sine(x, 1), x, std::cos);
}

}  // namespace SCALECALC_LANES_NAMESPACE
}  // namespace scalecalc::base::vector_math
