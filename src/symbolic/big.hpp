#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <string>

#include "scalecalc/symbolic.hpp"

namespace scalecalc {

using BigInteger = boost::multiprecision::cpp_int;

struct Rational::Big {
  BigInteger numerator, denominator;
};

namespace symbolic {

/// Numerators and denominators may have this many bits (about 4900 digits).
inline constexpr unsigned number_bits = 16384;

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
