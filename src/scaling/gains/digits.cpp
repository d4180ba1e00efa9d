#include "scaling/gains/digits.hpp"

namespace scalecalc::gains_room {

Rational precise_moment(const Activation& activation, Moment moment, const Rational& mean,
                        const Rational& variance, int digits) {
  const auto closed = closed_form_digits(activation, moment, mean, variance, {}, digits);
  return Rational::parse(
      closed ? *closed : quadrature_digits(activation, moment, mean, variance, {}, digits));
}

std::string inverse_root_digits(const Rational& x, int digits) {
  return evaluate_digits(pow(Expr(x), Rational(-1, 2)), digits);
}

}  // namespace scalecalc::gains_room
