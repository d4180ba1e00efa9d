#include <cmath>

#include "gaussian/closed_form/bounded.hpp"
#include "gaussian/closed_form/function.hpp"

namespace scalecalc {
namespace gaussian {
namespace {

using Impl = ClosedFormFunction::Impl;

void check(Moment moment, const GaussianInput& input) {
  if (!std::isfinite(input.mean)) {
    throw Error(ErrorKind::input, "the mean is not a number", "mean", "give a finite mean");
  }
  if (!std::isfinite(input.variance) || input.variance < 0) {
    throw Error(ErrorKind::input, "the variance is " + std::to_string(input.variance), "variance",
                "it is finite and not negative");
  }
  if (!is_pair(moment)) return;
  if (!input.correlation) {
    throw Error(ErrorKind::input, to_string(moment) + " needs a correlation", "correlation",
                "give one from -1 to 1");
  }
  if (!(std::fabs(*input.correlation) <= 1)) {
    throw Error(ErrorKind::input, "the correlation is " + std::to_string(*input.correlation),
                "correlation", "it lies from -1 to 1");
  }
}

Place place_of(const Activation& activation, double mean) {
  Place place;
  for (const Break& next : activation.breaks()) {
    if (next.where.is_number() ? Rational::exactly(mean) == next.where.number() : mean == next.at) {
      place.on_break = true;
      break;
    }
    if (mean < next.at) break;
    ++place.piece;
  }
  return place;
}

Bounded at_point(const Impl& impl, const GaussianInput& input) {
  const Activation& phi = impl.activation;
  const std::vector<Expr>& pieces = is_slope(impl.moment) ? phi.slope_pieces() : phi.pieces();
  const Place place = place_of(phi, input.mean);
  const std::map<std::string, Expr> x{{"x", Rational::exactly(input.mean)}};
  const Expr left = substitute(pieces[place.piece], x);
  const Expr right = place.on_break ? substitute(pieces[place.piece + 1], x) : left;
  const Expr correlation = Rational::exactly(input.correlation.value_or(0));
  return accurate(Program(point_mass(impl.moment, left, right, correlation)), nullptr);
}

std::optional<Bounded> bounded_value(const Impl& impl, const GaussianInput& input);

std::optional<Bounded> independent(const Impl& impl, const GaussianInput& input) {
  const auto one = shared_function(impl.activation, factor_of(impl.moment));
  const std::optional<Bounded> value = bounded_value(*one, input);
  if (!value) return std::nullopt;
  return product(*value, *value);
}

std::optional<Bounded> bounded_value(const Impl& impl, const GaussianInput& input) {
  if (infinite_because(impl.activation, impl.moment)) return std::nullopt;
  if (input.variance == 0) return at_point(impl, input);
  Correlation correlation = Correlation::symbol;
  if (is_pair(impl.moment)) {
    if (*input.correlation == 0) {
      if (const auto value = independent(impl, input)) return value;
    } else if (*input.correlation == 1) {
      return bounded_value(*shared_function(impl.activation, square_of(impl.moment)), input);
    } else if (*input.correlation == -1) {
      correlation = Correlation::minus_one;
    }
  }
  const InputMean mean = input.mean == 0 ? InputMean::zero : InputMean::symbol;
  const Impl::Entry& entry = impl.entry(mean, correlation);
  if (!entry.program) return std::nullopt;
  const double inputs[] = {input.variance, input.mean, input.correlation.value_or(0)};
  return accurate(*entry.program, inputs);
}

/// To double, which adds half a unit in the last place.
Estimate to_double(const Bounded& value) {
  const auto nearest = static_cast<double>(value.value);
  const long double error =
      std::isinf(nearest) ? 0 : value.error + std::fabs(value.value - nearest);
  return {nearest, static_cast<double>(error * (1 + 0x1p-40L)), Method::closed_form};
}

std::optional<Estimate> estimate(const Impl& impl, const GaussianInput& input) {
  check(impl.moment, input);
  const std::optional<Bounded> value = bounded_value(impl, input);
  if (!value || !std::isfinite(value->error)) return std::nullopt;
  return to_double(*value);
}

}  // namespace

std::optional<Estimate> unrefined_value(const Activation& activation, Moment moment,
                                        const GaussianInput& input) {
  if (infinite_because(activation, moment)) return std::nullopt;
  const auto impl = shared_function(activation, moment);
  const InputMean mean = input.mean == 0 ? InputMean::zero : InputMean::symbol;
  const Impl::Entry& entry = impl->entry(mean, Correlation::symbol);
  if (!entry.program) return std::nullopt;
  const double inputs[] = {input.variance, input.mean, 0};
  return to_double(entry.program->evaluate(inputs));
}

}  // namespace gaussian

ClosedFormFunction::ClosedFormFunction(const Activation& activation, Moment moment)
    : impl_(gaussian::shared_function(activation, moment)) {}

const ClosedForm& ClosedFormFunction::formula(InputMean mean) const {
  return impl_->entry(mean, gaussian::Correlation::symbol).form;
}

std::optional<Estimate> ClosedFormFunction::operator()(const GaussianInput& input) const {
  return gaussian::estimate(*impl_, input);
}

ClosedForm closed_form(const Activation& activation, Moment moment, InputMean mean) {
  return ClosedFormFunction(activation, moment).formula(mean);
}

std::optional<Estimate> closed_form_value(const Activation& activation, Moment moment,
                                          const GaussianInput& input) {
  return gaussian::estimate(*gaussian::shared_function(activation, moment), input);
}

}  // namespace scalecalc
