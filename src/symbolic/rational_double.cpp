#include <fmt/format.h>

#include <cmath>

#include "symbolic/big.hpp"

namespace scalecalc {
namespace {

constexpr int mantissa_bits = 53;

void check_finite(double value) {
  if (std::isfinite(value)) return;
  throw Error(ErrorKind::input, fmt::format("{} is not a number of a formula", value));
}

}  // namespace

Rational Rational::shortest(double value) {
  check_finite(value);
  return parse(fmt::format("{}", value));
}

Rational Rational::exactly(double value) {
  check_finite(value);
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const auto digits = static_cast<std::int64_t>(std::ldexp(mantissa, mantissa_bits));
  return Rational(digits) * symbolic::integer_power(2, exponent - mantissa_bits);
}

}  // namespace scalecalc
