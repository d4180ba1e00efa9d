#pragma once

#include <gmpxx.h>

#include <string>

#include "scalecalc/symbolic.hpp"

namespace scalecalc {

using BigInteger = mpz_class;

struct Rational::Big {
  BigInteger numerator, denominator;
};

namespace symbolic {

/// Numerators and denominators may have this many bits (about 4900 digits).
inline constexpr unsigned number_bits = 16384;

BigInteger power(const BigInteger& base, unsigned exponent);
/// Bits of |value|, which is not 0.
unsigned bits_of(const BigInteger& value);
/// The nearest integer to top/bottom, to even when it lies halfway; both are positive.
BigInteger rounded_quotient(const BigInteger& top, const BigInteger& bottom);

BigInteger big_numerator(const Rational& value);
BigInteger big_denominator(const Rational& value);
/// In lowest terms. Throws Error(input) past number_bits.
Rational make_rational(BigInteger numerator, BigInteger denominator = 1);
/// Bits of the larger of numerator and denominator.
unsigned bit_length(const Rational& value);
/// Throws Error(input) for 0 to a negative power and for a result past number_bits.
Rational integer_power(const Rational& base, const Rational& exponent);
/// The largest rational that divides both into integers; positive unless both are 0.
Rational common_divisor(const Rational& a, const Rational& b);
/// Toward minus infinity.
Rational floor(const Rational& value);

}  // namespace symbolic
}  // namespace scalecalc
