#include "scaling/gains/digits.hpp"

#include <fmt/format.h>

#include "scaling/gains/expectation.hpp"

namespace scalecalc::gains_room {

Rational precise_moment(const Activation& activation, Moment moment, const Rational& mean,
                        const Rational& variance, int digits,
                        const std::optional<Expr>& correlation) {
  const auto closed = closed_form_digits(activation, moment, mean, variance, correlation, digits);
  if (closed) return Rational::parse(*closed);
  if (digits > most_digits_of_quadrature) {
    throw Error(ErrorKind::input,
                fmt::format("its steps need {} digits of an integral without a formula, and "
                            "quadrature gives at most {}",
                            digits, most_digits_of_quadrature),
                {}, fmt::format("ask for {} digits fewer", digits - most_digits_of_quadrature));
  }
  return Rational::parse(
      quadrature_digits(activation, moment, mean, variance, correlation, digits));
}

Rational precise_log_slope(const Activation& activation, const Rational& mean,
                           const Rational& variance, const Rational& second, int digits) {
  const Activation tilted = times(activation, Expr::symbol("x", Assumption::real) - Expr(mean));
  const Rational moment = precise_moment(tilted, Moment::second, mean, variance, digits);
  return (moment / (variance * second) - 1) / 2;
}

std::string digits_of(const Expr& value, int digits) {
  return value.is_zero() ? "0" : evaluate_digits(value, digits);
}

std::string inverse_root_digits(const Rational& x, int digits) {
  return evaluate_digits(pow(Expr(x), Rational(-1, 2)), digits);
}

}  // namespace scalecalc::gains_room
