#include "scaling/gains/expectation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "gaussian/closed_form/function.hpp"
#include "scaling/gains/root.hpp"

namespace scalecalc::gains_room {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Expr x() {
  return Expr::symbol("x", Assumption::real);
}

/// Infinity where the integral diverges, at a positive variance.
template <class Value>
double or_infinite(Value value, double variance) {
  try {
    return value();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input || variance == 0) throw;
    return infinity;
  }
}

}  // namespace

Estimate expectation(const Activation& activation, Moment moment, const GaussianInput& input) {
  const auto value = closed_form_value(activation, moment, input);
  if (value && !std::isnan(value->value)) return *value;
  return quadrature(activation, moment, input);
}

double quick_expectation(const Activation& activation, Moment moment, const GaussianInput& input) {
  constexpr double good = 1e-13;
  if (input.variance == 0) return expectation(activation, moment, input).value;
  const auto value = gaussian::unrefined_value(activation, moment, input);
  if (!value) return quadrature(activation, moment, input).value;
  // What overflows is for the formula, too: it says infinite at once.
  if (!std::isfinite(value->value)) return expectation(activation, moment, input).value;
  if (value->error <= good * std::fabs(value->value)) return value->value;
  return quadrature(activation, moment, input).value;
}

GaussianInput scaled(const GaussianInput& input, double log_square) {
  return {input.mean * std::exp(log_square / 2), input.variance * std::exp(log_square), {}};
}

std::vector<double> scanned_second(const Activation& activation, const GaussianInput& input) {
  std::vector<double> values;
  // E phi(s u)^2 falls no faster than 1/s, so that past the range of double it stays out of reach.
  bool beyond = false;
  for (const double t : scan()) {
    const GaussianInput at = scaled(input, t);
    const auto value = [&] { return quick_expectation(activation, Moment::second, at); };
    values.push_back(beyond ? infinity : or_infinite(value, at.variance));
    beyond = beyond || std::isinf(values.back());
  }
  return values;
}

Activation times(const Activation& activation, const Expr& factor) {
  return Activation::from_expression(to_string(factor * activation.expression()));
}
Activation minus(const Activation& activation, const Expr& offset) {
  return Activation::from_expression(to_string(activation.expression() - offset));
}

Estimate variance_of(const Activation& activation, const GaussianInput& input) {
  const Estimate mean = expectation(activation, Moment::mean, input);
  if (mean.value == 0) return expectation(activation, Moment::second, input);
  const Activation centred = minus(activation, Rational::shortest(mean.value));
  // E(phi - m')^2 = Var + (m - m')^2 with m' the mean rounded to double.
  Estimate variance = expectation(centred, Moment::second, input);
  variance.error += mean.error * mean.error;
  return variance;
}

Estimate mapped(const Estimate& from, double value, double slope) {
  const double rounding = std::numeric_limits<double>::epsilon() * std::fabs(value);
  return {value, std::fabs(slope) * from.error + rounding, from.method};
}

Estimate inverse_root(const Estimate& from) {
  const double value = 1 / std::sqrt(from.value);
  return mapped(from, value, value / (2 * from.value));
}

std::optional<std::string> infinite_slope(const Activation& activation) {
  for (const Break& place : activation.breaks()) {
    if (place.jump) return "E phi'^2 is infinite: phi jumps at x = " + to_string(place.where);
  }
  return std::nullopt;
}

const Activation& SecondMap::times_x() const {
  if (!times_x_) times_x_ = times(activation_, x());
  return *times_x_;
}

double SecondMap::second(double q) const {
  return or_infinite([&] { return expectation(activation_, Moment::second, {0, q, {}}).value; }, q);
}

const std::vector<double>& SecondMap::scanned() const {
  if (scanned_.empty()) scanned_ = scanned_second(activation_, {});
  return scanned_;
}

Estimate SecondMap::log_slope(double q) const {
  const GaussianInput input{0, q, {}};
  const Estimate second = expectation(activation_, Moment::second, input);
  const Estimate tilted = expectation(times_x(), Moment::second, input);
  const double ratio = tilted.value / (q * second.value);
  const double relative = tilted.error / tilted.value + second.error / second.value;
  return {(ratio - 1) / 2, ratio * (relative + 2 * std::numeric_limits<double>::epsilon()) / 2,
          second.method};
}

double SecondMap::slope_second(double q) const {
  if (activation_.has_jump()) return infinity;
  return or_infinite(
      [&] {
        return expectation(activation_, Moment::slope_second, {0, q, {}}).value;
      },
      q);
}

}  // namespace scalecalc::gains_room
