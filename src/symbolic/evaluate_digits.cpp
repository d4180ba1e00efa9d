#include <cmath>

#include "base/text.hpp"
#include "symbolic/big.hpp"
#include "symbolic/evaluate.hpp"

namespace scalecalc {
namespace symbolic {
namespace {

/// Plain notation writes out every zero before or behind the digits.
constexpr long longest_positional = 20000;

Decimal decimal_of(const Real& value, int digits) {
  mpfr_exp_t exponent = 0;
  char* text = mpfr_get_str(nullptr, &exponent, 10, static_cast<std::size_t>(digits), value.get(),
                            MPFR_RNDN);
  Decimal result;
  result.minus = text[0] == '-';
  result.digits = text + (result.minus ? 1 : 0);
  result.exponent = static_cast<long>(exponent);
  mpfr_free_str(text);
  return result;
}

/// |value| certainly outside 10^(+-longest_positional), by the binary exponents of its bounds.
bool is_unwritable(const Interval& value) {
  if (value.is_nan() || value.contains_zero()) return false;
  const auto far = [](const Real& end) {
    return !end.is_finite() || std::labs(mpfr_get_exp(end.get())) > longest_positional * 10 / 3;
  };
  return far(value.lower) && far(value.upper);
}

[[noreturn]] void too_far(const Expr& expr) {
  throw Error(ErrorKind::input, "the value is too large or too small to be written out",
              base::shortened(to_string(expr)),
              "plain notation is limited to " + std::to_string(longest_positional) + " places");
}

/// Below the smallest number there is: [0, tiny].
bool is_underflow(const Interval& value) {
  const Real& far = value.lower.sign() == 0 ? value.upper : value.lower;
  return (value.lower.sign() == 0) != (value.upper.sign() == 0) && far.is_finite() &&
         mpfr_get_exp(far.get()) < -longest_positional * 10 / 3;
}

/// Whether half of the bits are certain; beside 0, whether the value is below 2^(-bits/2).
bool is_narrow(const Interval& value) {
  const mpfr_prec_t bits = value.bits();
  Real width(bits);
  mpfr_sub(width.get(), value.upper.get(), value.lower.get(), MPFR_RNDU);
  if (!width.is_finite()) return false;
  const mpfr_exp_t scale = value.contains_zero() ? 0 : mpfr_get_exp(value.upper.get());
  return width.sign() == 0 || mpfr_get_exp(width.get()) < scale - bits / 2;
}

/// A value that stays exactly between two decimals, or at 0, never settles.
std::string unsettled(const Expr& expr, const Interval& value, int digits) {
  const std::string where = base::shortened(to_string(expr)), bits = std::to_string(value.bits());
  if (value.is_nan()) throw Error(ErrorKind::input, "the expression has no real value", where);
  if (is_underflow(value)) too_far(expr);
  if (!is_narrow(value)) {
    throw Error(ErrorKind::input, "the value is lost in cancellation or at a pole", where,
                "more than " + bits + " bits would be needed");
  }
  if (value.contains_zero()) {
    throw Error(ErrorKind::input, "the value cannot be told from 0 with " + bits + " bits", where);
  }
  Real middle(value.bits());
  mpfr_add(middle.get(), value.lower.get(), value.upper.get(), MPFR_RNDN);
  mpfr_div_2ui(middle.get(), middle.get(), 1, MPFR_RNDN);
  return positional(decimal_of(middle, digits));
}

}  // namespace

std::optional<Decimal> agreed_digits(const Interval& value, int digits) {
  if (!value.lower.is_finite() || !value.upper.is_finite()) return std::nullopt;
  if (value.contains_zero()) return std::nullopt;
  const Decimal low = decimal_of(value.lower, digits), high = decimal_of(value.upper, digits);
  if (low.digits != high.digits || low.exponent != high.exponent) return std::nullopt;
  return low;
}

Decimal rounded(const Rational& value, int digits) {
  BigInteger top = abs(big_numerator(value)), bottom = big_denominator(value);
  const BigInteger ten = 10;
  long exponent =
      static_cast<long>(top.get_str().size()) - static_cast<long>(bottom.get_str().size());
  long shift = digits - exponent;  // value * 10^shift has `digits` or one more
  (shift < 0 ? bottom : top) *= power(ten, static_cast<unsigned>(std::labs(shift)));
  if (top >= bottom * power(ten, static_cast<unsigned>(digits))) {
    bottom *= 10;
    --shift;
  }
  Decimal result{value.sign() < 0, rounded_quotient(top, bottom).get_str(), 0};
  result.exponent = static_cast<long>(result.digits.size()) - shift;
  result.digits.resize(static_cast<std::size_t>(digits));
  return result;
}

std::string positional(const Decimal& decimal) {
  if (std::labs(decimal.exponent) > longest_positional) {
    throw Error(ErrorKind::input, "the value is too large or too small to be written out", {},
                "plain notation is limited to " + std::to_string(longest_positional) + " places");
  }
  std::string text = decimal.digits;
  const auto length = static_cast<long>(text.size());
  if (decimal.exponent <= 0) {
    text = "0." + std::string(static_cast<std::size_t>(-decimal.exponent), '0') + text;
  } else if (decimal.exponent >= length) {
    text += std::string(static_cast<std::size_t>(decimal.exponent - length), '0');
  } else {
    text.insert(static_cast<std::size_t>(decimal.exponent), ".");
  }
  return decimal.minus ? "-" + text : text;
}

std::string positional_zero(int digits) {
  return digits == 1 ? "0" : "0." + std::string(static_cast<std::size_t>(digits - 1), '0');
}

bool is_cancelled(const Expr& expr) {
  const WideExponents wide;
  const Interval value = enclose(expr, {}, 4096);
  return !value.is_nan() && value.contains_zero() && is_narrow(value);
}

}  // namespace symbolic

std::string evaluate_digits(const Expr& expr, int digits,
                            const std::map<std::string, Expr>& values) {
  using namespace symbolic;
  if (digits < 1 || digits > ExprLimits::digits) {
    throw Error(ErrorKind::input, std::to_string(digits) + " digits cannot be given", "digits",
                "from 1 to " + std::to_string(ExprLimits::digits));
  }
  const Expr exact = substitute(expr, values);
  if (exact.is_zero()) return positional_zero(digits);
  if (exact.is_number()) return positional(rounded(exact.number(), digits));
  const WideExponents wide;
  const auto first = static_cast<mpfr_prec_t>(std::ceil(digits * 3.3219281) + 64);
  const mpfr_prec_t last = 4 * first + 16384;
  for (mpfr_prec_t bits = first;; bits = std::min(2 * bits, last)) {
    const Interval value = enclose(exact, {}, bits);
    if (is_unwritable(value)) too_far(exact);
    if (const std::optional<Decimal> decimal = agreed_digits(value, digits)) {
      return positional(*decimal);
    }
    if (bits == last || value.is_nan()) return unsettled(exact, value, digits);
  }
}

}  // namespace scalecalc
