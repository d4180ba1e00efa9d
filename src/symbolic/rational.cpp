#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/text.hpp"
#include "symbolic/big.hpp"

namespace scalecalc {

__extension__ typedef __int128 Wide;

struct RationalAccess {
  static constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

  static Rational small(std::int64_t numerator, std::int64_t denominator) {
    Rational result;
    result.numerator_ = numerator;
    result.denominator_ = denominator;
    return result;
  }

  static Rational big(BigInteger numerator, BigInteger denominator) {
    if (abs(numerator) <= largest && denominator <= largest) {
      return small(numerator.get_si(), denominator.get_si());
    }
    const BigInteger& longer = abs(numerator) > denominator ? numerator : denominator;
    if (symbolic::bits_of(longer) > symbolic::number_bits) {
      throw Error(ErrorKind::input, "a number has more than 16384 bits", {},
                  "numbers are limited to about 4900 digits");
    }
    Rational result;
    result.big_ = std::make_shared<const Rational::Big>(
        Rational::Big{std::move(numerator), std::move(denominator)});
    return result;
  }

  static BigInteger widen(Wide value) {
    const bool negative = value < 0;
    const Wide magnitude = negative ? -value : value;
    BigInteger result = static_cast<std::uint64_t>(magnitude >> 64);
    result <<= 64;
    result += static_cast<std::uint64_t>(magnitude);
    return negative ? BigInteger(-result) : result;
  }

  /// From a quotient of products of machine words; the denominator is positive.
  static Rational reduce(Wide numerator, Wide denominator) {
    const Wide magnitude = numerator < 0 ? -numerator : numerator;
    if (magnitude <= largest && denominator <= largest) {
      const std::int64_t divisor =
          std::gcd(static_cast<std::int64_t>(magnitude), static_cast<std::int64_t>(denominator));
      return small(static_cast<std::int64_t>(numerator) / divisor,
                   static_cast<std::int64_t>(denominator) / divisor);
    }
    return symbolic::make_rational(widen(numerator), widen(denominator));
  }
};

namespace symbolic {

BigInteger power(const BigInteger& base, unsigned exponent) {
  BigInteger result;
  mpz_pow_ui(result.get_mpz_t(), base.get_mpz_t(), exponent);
  return result;
}

unsigned bits_of(const BigInteger& value) {
  return static_cast<unsigned>(mpz_sizeinbase(value.get_mpz_t(), 2));
}

BigInteger rounded_quotient(const BigInteger& top, const BigInteger& bottom) {
  BigInteger quotient, remainder;
  mpz_tdiv_qr(quotient.get_mpz_t(), remainder.get_mpz_t(), top.get_mpz_t(), bottom.get_mpz_t());
  const int half = cmp(BigInteger(2 * remainder), bottom);
  if (half > 0 || (half == 0 && mpz_odd_p(quotient.get_mpz_t()))) ++quotient;
  return quotient;
}

BigInteger big_numerator(const Rational& value) {
  return value.big() ? value.big()->numerator : BigInteger(value.small_numerator());
}

BigInteger big_denominator(const Rational& value) {
  return value.big() ? value.big()->denominator : BigInteger(value.small_denominator());
}

Rational make_rational(BigInteger numerator, BigInteger denominator) {
  if (denominator == 0) throw Error(ErrorKind::input, "division by zero");
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  if (denominator != 1) {
    const BigInteger divisor = gcd(numerator, denominator);
    if (divisor != 1) {
      numerator /= divisor;
      denominator /= divisor;
    }
  }
  return RationalAccess::big(std::move(numerator), std::move(denominator));
}

unsigned bit_length(const Rational& value) {
  return std::max(bits_of(big_numerator(value)), bits_of(big_denominator(value)));
}

Rational integer_power(const Rational& base, const Rational& exponent) {
  if (base.is_zero() && exponent.sign() < 0) throw Error(ErrorKind::input, "division by zero");
  if (base.is_one() || exponent.is_zero()) return 1;
  if (base.is_zero()) return 0;
  const std::optional<std::int64_t> count = exponent.to_int64();
  if (base == Rational(-1)) return (exponent / 2).is_integer() ? 1 : -1;
  const double bits = (bit_length(base) - 1) * std::fabs(exponent.to_double());
  if (!count || bits > number_bits) {
    throw Error(ErrorKind::input,
                "the power " + base::shortened(base.to_string(), 40) + "^" +
                    base::shortened(exponent.to_string(), 40) + " is too large to be exact",
                {}, "exact numbers are limited to 16384 bits, about 4900 digits");
  }
  const unsigned times = static_cast<unsigned>(std::llabs(*count));
  BigInteger top = power(big_numerator(base), times), bottom = power(big_denominator(base), times);
  return *count > 0 ? make_rational(std::move(top), std::move(bottom))
                    : make_rational(std::move(bottom), std::move(top));
}

Rational common_divisor(const Rational& a, const Rational& b) {
  if (a.is_integer() && b.is_integer() && !a.big() && !b.big()) {
    return std::gcd(a.small_numerator(), b.small_numerator());
  }
  const BigInteger d = big_denominator(a), e = big_denominator(b);
  return make_rational(gcd(BigInteger(big_numerator(a) * e), BigInteger(big_numerator(b) * d)),
                       d * e);
}

Rational floor(const Rational& value) {
  if (value.is_integer()) return value;
  BigInteger quotient = big_numerator(value) / big_denominator(value);
  if (value.sign() < 0) --quotient;
  return make_rational(std::move(quotient));
}

}  // namespace symbolic

namespace {

/// Knuth, volume 2, 4.5.1: divisors are taken between small parts where one operand is small.
Rational add_large(const Rational& a, const Rational& b) {
  const BigInteger d = symbolic::big_denominator(a), e = symbolic::big_denominator(b);
  const BigInteger shared = gcd(d, e), rest = d / shared;
  BigInteger sum = symbolic::big_numerator(a) * (e / shared) + symbolic::big_numerator(b) * rest;
  const BigInteger common = gcd(sum, shared);
  return RationalAccess::big(sum / common, rest * (e / common));
}

Rational multiply_large(BigInteger top, BigInteger bottom, BigInteger other_top,
                        BigInteger other_bottom) {
  const BigInteger first = gcd(top, other_bottom), second = gcd(other_top, bottom);
  top = (top / first) * (other_top / second);
  bottom = (bottom / second) * (other_bottom / first);
  return RationalAccess::big(std::move(top), std::move(bottom));
}

}  // namespace

Rational::Rational(std::int64_t numerator) : numerator_(numerator) {
  // The smallest machine word has no opposite: it lives with the large numbers.
  if (numerator < -RationalAccess::largest) *this = symbolic::make_rational(numerator);
}

Rational::Rational(std::int64_t numerator, std::int64_t denominator) {
  if (denominator == 0) throw Error(ErrorKind::input, "division by zero");
  const Wide sign = denominator < 0 ? -1 : 1;
  *this = RationalAccess::reduce(sign * numerator, sign * denominator);
}

bool Rational::is_zero() const {
  return !big_ && numerator_ == 0;
}
bool Rational::is_one() const {
  return !big_ && numerator_ == 1 && denominator_ == 1;
}
bool Rational::is_integer() const {
  return big_ ? big_->denominator == 1 : denominator_ == 1;
}

int Rational::sign() const {
  if (big_) return sgn(big_->numerator);
  return (numerator_ > 0) - (numerator_ < 0);
}

Rational Rational::numerator() const {
  return big_ ? symbolic::make_rational(big_->numerator) : Rational(numerator_);
}

Rational Rational::denominator() const {
  return big_ ? symbolic::make_rational(big_->denominator) : Rational(denominator_);
}

std::optional<std::int64_t> Rational::to_int64() const {
  if (big_ || denominator_ != 1) return std::nullopt;
  return numerator_;
}

std::string Rational::to_string() const {
  const std::string top = big_ ? big_->numerator.get_str() : std::to_string(numerator_);
  if (is_integer()) return top;
  return top + "/" + (big_ ? big_->denominator.get_str() : std::to_string(denominator_));
}

double Rational::to_double() const {
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  if (!big_ && std::llabs(numerator_) <= exact && denominator_ <= exact) {
    return static_cast<double>(numerator_) / static_cast<double>(denominator_);
  }
  BigInteger top = abs(symbolic::big_numerator(*this)), bottom = symbolic::big_denominator(*this);
  const int guess =
      static_cast<int>(symbolic::bits_of(top)) - static_cast<int>(symbolic::bits_of(bottom));
  if (guess > 1025) return sign() * std::numeric_limits<double>::infinity();
  (guess < 0 ? top : bottom) <<= std::abs(guess);
  const int exponent = top < bottom ? guess - 1 : guess;  // 2^exponent <= |value| < twice that
  const int unit = std::max(exponent - 52, -1074);
  (guess > unit ? top : bottom) <<= std::abs(guess - unit);
  return sign() * std::ldexp(symbolic::rounded_quotient(top, bottom).get_d(), unit);
}

Rational Rational::operator-() const {
  if (big_) return RationalAccess::big(-big_->numerator, big_->denominator);
  return RationalAccess::small(-numerator_, denominator_);
}

Rational operator+(const Rational& a, const Rational& b) {
  if (!a.big() && !b.big()) {
    return RationalAccess::reduce(
        Wide(a.numerator_) * b.denominator_ + Wide(b.numerator_) * a.denominator_,
        Wide(a.denominator_) * b.denominator_);
  }
  return add_large(a, b);
}

Rational operator-(const Rational& a, const Rational& b) {
  return a + -b;
}

Rational operator*(const Rational& a, const Rational& b) {
  if (!a.big() && !b.big()) {
    return RationalAccess::reduce(Wide(a.numerator_) * b.numerator_,
                                  Wide(a.denominator_) * b.denominator_);
  }
  return multiply_large(symbolic::big_numerator(a), symbolic::big_denominator(a),
                        symbolic::big_numerator(b), symbolic::big_denominator(b));
}

Rational operator/(const Rational& a, const Rational& b) {
  if (b.is_zero()) throw Error(ErrorKind::input, "division by zero");
  if (!a.big() && !b.big()) {
    const Wide sign = b.numerator_ < 0 ? -1 : 1;
    return RationalAccess::reduce(sign * a.numerator_ * b.denominator_,
                                  sign * a.denominator_ * b.numerator_);
  }
  BigInteger top = symbolic::big_denominator(b), bottom = symbolic::big_numerator(b);
  if (bottom < 0) {
    top = -top;
    bottom = -bottom;
  }
  return multiply_large(symbolic::big_numerator(a), symbolic::big_denominator(a), std::move(top),
                        std::move(bottom));
}

bool operator==(const Rational& a, const Rational& b) {
  if (!a.big() && !b.big()) {
    return a.numerator_ == b.numerator_ && a.denominator_ == b.denominator_;
  }
  return a.big() && b.big() && a.big()->numerator == b.big()->numerator &&
         a.big()->denominator == b.big()->denominator;
}

bool operator<(const Rational& a, const Rational& b) {
  if (!a.big() && !b.big()) {
    return Wide(a.numerator_) * b.denominator_ < Wide(b.numerator_) * a.denominator_;
  }
  return symbolic::big_numerator(a) * symbolic::big_denominator(b) <
         symbolic::big_numerator(b) * symbolic::big_denominator(a);
}

}  // namespace scalecalc
