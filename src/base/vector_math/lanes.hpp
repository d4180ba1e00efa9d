#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Vectors of doubles in the width of the machine that the including file is compiled for. Each
/// width has its own namespace, so that files compiled for different machines may be linked.
#if defined(__AVX512F__)
#define SCALECALC_LANES 8
#define SCALECALC_LANES_NAMESPACE lanes_8
#elif defined(__AVX__)
#define SCALECALC_LANES 4
#define SCALECALC_LANES_NAMESPACE lanes_4
#else
#define SCALECALC_LANES 2
#define SCALECALC_LANES_NAMESPACE lanes_2
#endif

namespace scalecalc::base::vector_math {
inline namespace SCALECALC_LANES_NAMESPACE {

inline constexpr std::size_t lanes = SCALECALC_LANES;
using Real = double __attribute__((vector_size(8 * SCALECALC_LANES)));
using Int = std::int64_t __attribute__((vector_size(8 * SCALECALC_LANES)));

inline Real load(const double* from) {
  Real value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline void store(const Real& value, double* to) {
  std::memcpy(to, &value, sizeof value);
}
inline Real all(double value) {
  return value - Real{};
}
inline Int bits(const Real& value) {
  return std::bit_cast<Int>(value);
}
inline Real from_bits(const Int& value) {
  return std::bit_cast<Real>(value);
}

inline constexpr std::int64_t sign_bit = std::int64_t{1} << 63;

inline Real abs(const Real& x) {
  return from_bits(bits(x) & ~sign_bit);
}
/// |size| with the sign of `sign`.
inline Real with_sign(const Real& size, const Real& sign) {
  return from_bits((bits(size) & ~sign_bit) | (bits(sign) & sign_bit));
}
/// NaN stays NaN.
inline Real clamp(const Real& x, double low, double high) {
  const Real above = x < low ? all(low) : x;
  return above > high ? all(high) : above;
}
/// Whether any lane of a comparison holds.
inline bool any(const Int& mask) {
  std::int64_t seen = 0;
  for (std::size_t k = 0; k < lanes; ++k) seen |= mask[k];
  return seen != 0;
}

/// 1.5 * 2^52: adding it rounds to an integer, which then stands in the low bits.
inline constexpr double rounding_shift = 6755399441055744.0;

struct Rounded {
  Real value;
  Int integer;
};
/// The nearest integer, for |x| < 2^51.
inline Rounded round_to_integer(const Real& x) {
  const Real shifted = x + rounding_shift;
  return {shifted - rounding_shift, bits(shifted) - bits(all(rounding_shift))};
}

/// 2^k for -1022 <= k <= 1023.
inline Real power_of_two(const Int& k) {
  return from_bits((k + 1023) << 52);
}

/// c[0] + c[1] x + ... by Horner's rule.
template <std::size_t Count>
Real polynomial(const Real& x, const double (&c)[Count]) {
  Real sum = all(c[Count - 1]);
  for (std::size_t k = Count - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

/// y[i] = f(x[i]) for any count; one lane's result does not depend on the others.
template <class Function>
void apply(Function f, const double* x, double* y, std::size_t count) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) store(f(load(x + i)), y + i);
  if (i == count) return;
  double rest[lanes] = {};
  std::memcpy(rest, x + i, (count - i) * sizeof(double));
  store(f(load(rest)), rest);
  std::memcpy(y + i, rest, (count - i) * sizeof(double));
}

}  // namespace SCALECALC_LANES_NAMESPACE
}  // namespace scalecalc::base::vector_math
