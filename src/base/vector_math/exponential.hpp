#pragma once

#include "base/vector_math/lanes.hpp"

/// exp, expm1, log, log1p and the functions made of them, to 2 units in the last place (tests).
namespace scalecalc::base::vector_math {
inline namespace SCALECALC_LANES_NAMESPACE {

/// ln 2 in two parts; the first has 32 bits, so that its products with exponents are exact.
inline constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;

namespace detail {

/// x + low = n ln 2 + rest, |rest| <= ln 2/2.
struct Reduced {
  Real rest;
  Int n;
};
inline Reduced reduce(const Real& x, const Real& low) {
  const Rounded n = round_to_integer(x * 1.4426950408889634);
  return {((x - n.value * ln2_high) - n.value * ln2_low) + low, n.integer};
}

/// (exp(r) - 1 - r)/r^2 for |r| <= ln 2/2, by its Taylor series.
inline Real exponential_remainder(const Real& r) {
  static constexpr double c[] = {1.0 / 2,         1.0 / 6,         1.0 / 24,
                                 1.0 / 120,       1.0 / 720,       1.0 / 5040,
                                 1.0 / 40320,     1.0 / 362880,    1.0 / 3628800.,
                                 1.0 / 39916800., 1.0 / 479001600, 1.0 / 6227020800.};
  return polynomial(r, c);
}

}  // namespace detail

/// exp(x + low), |low| far below |x|; subnormal results and overflow as IEEE has them.
inline Real exp(const Real& x, const Real& low) {
  const Real inside = clamp(x, -746.0, 710.0);
  const auto [r, n] = detail::reduce(inside, low);
  const Real value = 1.0 + (r + r * r * detail::exponential_remainder(r));
  const Int half = n >> 1;
  return value * power_of_two(half) * power_of_two(n - half);
}
inline Real exp(const Real& x) {
  return exp(x, Real{});
}

/// exp(c x^2) for c = -2^k: the square is split in two, else its rounding would be multiplied by
/// it.
inline Real exp_of_square(const Real& x, double c) {
  const Real inside = clamp(x, -1e150, 1e150);
  const Real high = from_bits(bits(inside) & ~std::int64_t{0x7ffffff});
  const Real low = (inside - high) * (inside + high);
  const Real square = c * (high * high);
  return exp(square, square < -746.0 ? Real{} : c * low);
}

inline Real expm1(const Real& x) {
  const Real inside = clamp(x, -746.0, 710.0);
  const auto [r, n] = detail::reduce(inside, Real{});
  const Real small = r + r * r * detail::exponential_remainder(r);
  // 2^n (small + (1 - 2^-n)) while 2^n and 2^-n are far from the ends of the range; beyond, the 1
  // is below the rounding of one of the terms.
  const Real near = power_of_two(n) * (small + (1.0 - power_of_two(-n)));
  const Int half = n >> 1;
  const Real far = (1.0 + small) * power_of_two(half) * power_of_two(n - half) - 1.0;
  const Int is_far = (n > 50) | (n < -60);
  const Real value = is_far ? far : near;
  return n == 0 ? small : value;
}

namespace detail {

/// |x| = 2^e m with sqrt(1/2) <= m < sqrt(2), for x != 0 (subnormal too).
struct Decomposed {
  Real mantissa, exponent;
};
inline Decomposed decompose(const Real& x) {
  const Real size = abs(x);
  const Int tiny = size < 0x1p-1022;
  const Int pattern = bits(tiny ? size * 0x1p54 : size);
  // The exponent counts from the bits of sqrt(1/2).
  const Int offset = pattern - 0x3fe6a09e667f3bcd;
  const Int exponent = (offset >> 52);
  const Real mantissa = from_bits(pattern - (exponent << 52));
  const Int actual = tiny ? exponent - 54 : exponent;
  const Int shifted = actual + bits(all(rounding_shift));
  return {mantissa, from_bits(shifted) - rounding_shift};
}

/// log(2^e m) + correction: f - (f^2/2 - s (f^2/2 + R)) with f = m - 1, s = f/(2 + f), which keeps
/// the large part f exact.
inline Real logarithm(const Decomposed& x, const Real& correction) {
  static constexpr double c[] = {0.6666666666666666,  0.4000000000000088,  0.28571428570803614,
                                 0.22222222391713917, 0.18181795640132906, 0.15386239702814658,
                                 0.13268773138656886, 0.13086626147840102};
  const Real f = x.mantissa - 1.0, s = f / (2.0 + f), z = s * s;
  const Real half_square = 0.5 * f * f, rest = z * polynomial(z, c);
  const Real low = s * (half_square + rest) + (x.exponent * ln2_low + correction);
  return x.exponent * ln2_high - ((half_square - low) - f);
}

/// The limits of log: -inf at 0, NaN below, inf at inf.
inline Real at_the_ends(const Real& x, const Real& value) {
  const double infinity = __builtin_inf();
  const Real positive = x < infinity ? value : x;
  const Real defined = x > 0.0 ? positive : all(__builtin_nan(""));
  const Real at_zero = x == 0.0 ? all(-infinity) : defined;
  return x != x ? x : at_zero;
}

}  // namespace detail

inline Real log(const Real& x) {
  return detail::at_the_ends(x, detail::logarithm(detail::decompose(x), Real{}));
}

inline Real log1p(const Real& x) {
  const Real u = 1.0 + x;
  // What the rounding of 1 + x lost.
  const Real lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
  const Real value = detail::logarithm(detail::decompose(u), lost / u);
  const Real ends = detail::at_the_ends(u, value);
  return abs(x) < 0x1p-60 ? x : ends;
}

/// 1/(1 + exp(-x)), given e = exp(-|x|).
inline Real sigmoid(const Real& x, const Real& e) {
  return (x < 0.0 ? e : all(1.0)) / (1.0 + e);
}
inline Real sigmoid(const Real& x) {
  return sigmoid(x, exp(-abs(x)));
}

/// log(1 + exp(x)), given e = exp(-|x|).
inline Real softplus(const Real& x, const Real& e) {
  const Real positive = x < 0.0 ? Real{} : x;
  return positive + log1p(e);
}
inline Real softplus(const Real& x) {
  return softplus(x, exp(-abs(x)));
}

inline Real tanh(const Real& x) {
  const Real e = expm1(-2.0 * abs(clamp(x, -40.0, 40.0)));
  return with_sign(-e / (2.0 + e), x);
}

}  // namespace SCALECALC_LANES_NAMESPACE
}  // namespace scalecalc::base::vector_math
