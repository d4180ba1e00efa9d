#pragma once

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "scalecalc/gaussian.hpp"

/// What quadrature states of smooth integrands is below this share of their absolute integral.
constexpr double stated_share = 1e-13;

/// A dyadic fraction n 2^k, the same number in double and as an expression, so that nothing is lost
/// between the two.
struct Dyadic {
  int numerator = 0, power = 0;
  double value() const { return std::ldexp(numerator, power); }
  scalecalc::Expr expr() const {
    const auto size = std::int64_t{1} << std::abs(power);
    const scalecalc::Rational factor =
        power < 0 ? scalecalc::Rational(1, size) : scalecalc::Rational(size);
    return scalecalc::Expr(scalecalc::Rational(numerator) * factor);
  }
};

inline double exact_moment(const scalecalc::Activation& phi, scalecalc::Moment moment, Dyadic mean,
                           Dyadic variance, std::optional<Dyadic> c = std::nullopt,
                           int digits = 22) {
  std::optional<scalecalc::Expr> correlation;
  if (c) correlation = c->expr();
  return std::strtod(
      scalecalc::quadrature_digits(phi, moment, mean.expr(), variance.expr(), correlation, digits)
          .c_str(),
      nullptr);
}

/// The message of the Error that f throws; empty when it does not.
template <class Function>
std::string message_of(Function f) {
  try {
    f();
  } catch (const scalecalc::Error& error) {
    return error.what();
  }
  return {};
}
