#include "scaling/growing_stream.hpp"

#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "scaling/block.hpp"

namespace scalecalc {

// With w = 1 + n lambda^2 the integral is ln(w)/lambda^2 for p = 2 and, for other p,
// (w^(1 - p/2) - 1)/((1 - p/2) lambda^2).
Expr growing_stream_equation(const StepLaw& law, const Expr& matrices) {
  const Expr lambda = lambda_symbol();
  const Expr square = lambda * lambda;
  const Expr end = 1 + matrices * square;
  const Rational power = Rational(1) - law.gradient_power / 2;
  const Expr integral =
      power.is_zero() ? log(end) / square : (pow(end, power) - 1) / (Expr(power) * square);
  return pow(lambda, law.parameter_power) * integral;
}

// p = 1: with w = (1 + n lambda^2)^(1/2), lambda^2 = (w^2 - 1)/n, so the equation is
// lambda^s 2n/(w + 1) = 1, w = 2n lambda^s - 1, and squaring gives
// lambda^2 = 4n lambda^(2s) - 4 lambda^s.
std::optional<Expr> growing_stream_lambda(const StepLaw& law, const Expr& matrices) {
  if (!law.gradient_power.is_one()) return std::nullopt;
  if (law.parameter_power.is_zero()) return 2 * sqrt(matrices - 1);
  if (law.parameter_power.is_one()) return 4 / (4 * matrices - 1);
  return std::nullopt;
}

double growing_stream_root(const StepLaw& law, double matrices) {
  const double p = law.gradient_power.to_double(), s = law.parameter_power.to_double();
  // log of the left side, as a function of log lambda; log1p and expm1 keep it exact for tiny
  // lambda.
  const auto log_left = [&](double log_lambda) {
    const double growth = std::log1p(matrices * std::exp(2 * log_lambda));
    const double power = 1 - p / 2;
    const double integral = power == 0 ? growth : std::expm1(power * growth) / power;
    return s * log_lambda + std::log(integral) - 2 * log_lambda;
  };
  double low = -60, high = 60;
  if (!(log_left(low) * log_left(high) < 0))
    throw Error(
        ErrorKind::unsolvable, "no lambda makes the step independent of depth", "sub-ln",
        "the equation is " + to_string(growing_stream_equation(law, Expr::symbol("n"))) + " == 1");
  std::uintmax_t iterations = 200;
  const auto bracket = boost::math::tools::toms748_solve(
      log_left, low, high, boost::math::tools::eps_tolerance<double>(52), iterations);
  return std::exp(0.5 * (bracket.first + bracket.second));
}

}  // namespace scalecalc
