#include "gaussian/closed_form/function.hpp"
#include "symbolic/evaluate.hpp"

namespace scalecalc {
namespace gaussian {
namespace {

struct ExactInput {
  Expr mean, variance;
  std::optional<Expr> correlation;
};

/// -1, 0 or 1 for a constant expression.
int sign_of(const Expr& value, const char* name) {
  if (value.is_number()) return value.number().sign();
  const std::string digits = evaluate_digits(value, 1);
  if (digits.find_first_not_of("-0.") == std::string::npos) {
    throw Error(ErrorKind::input, "the " + std::string(name) + " cannot be told from 0", name,
                "write 0");
  }
  return digits[0] == '-' ? -1 : 1;
}

void check(Moment moment, const ExactInput& input) {
  if (sign_of(input.variance, "variance") < 0) {
    throw Error(ErrorKind::input, "the variance is " + to_string(input.variance), "variance",
                "it is not negative");
  }
  if (!is_pair(moment)) return;
  if (!input.correlation) {
    throw Error(ErrorKind::input, to_string(moment) + " needs a correlation", "correlation",
                "give one from -1 to 1");
  }
  const Expr &c = *input.correlation, room = expand(1 - pow(c, 2));
  if (sign_of(room, "distance of the correlation from 1") < 0) {
    throw Error(ErrorKind::input, "the correlation is " + to_string(c), "correlation",
                "it lies from -1 to 1");
  }
}

Place place_of(const Activation& activation, const Expr& mean) {
  Place place;
  for (const Break& next : activation.breaks()) {
    const Expr distance = expand(mean - next.where);
    const int sign =
        distance.is_zero() ? 0 : sign_of(distance, "distance of the mean from a break");
    place.on_break = sign == 0;
    if (sign <= 0) break;
    ++place.piece;
  }
  return place;
}

Expr at_point(const Activation& phi, Moment moment, const ExactInput& input) {
  const std::vector<Expr>& pieces = is_slope(moment) ? phi.slope_pieces() : phi.pieces();
  const Place place = place_of(phi, input.mean);
  const Expr left = substitute(pieces[place.piece], {{"x", input.mean}});
  const Expr right =
      place.on_break ? substitute(pieces[place.piece + 1], {{"x", input.mean}}) : left;
  return point_mass(moment, left, right, input.correlation.value_or(Expr(0)));
}

/// The formula with the input put in.
std::optional<Expr> exact_value(const Activation& phi, Moment moment, const ExactInput& input) {
  if (infinite_because(phi, moment)) return std::nullopt;
  if (input.variance.is_zero()) return at_point(phi, moment, input);
  Correlation correlation = Correlation::symbol;
  if (is_pair(moment)) {
    if (input.correlation->is_zero()) {
      if (const auto value = exact_value(phi, factor_of(moment), input)) return pow(*value, 2);
    } else if (input.correlation->is_one()) {
      return exact_value(phi, square_of(moment), input);
    } else if (*input.correlation == Expr(-1)) {
      correlation = Correlation::minus_one;
    }
  }
  const InputMean mean = input.mean.is_zero() ? InputMean::zero : InputMean::symbol;
  const ClosedForm& form = shared_function(phi, moment)->entry(mean, correlation).form;
  if (!form.formula) return std::nullopt;
  return substitute(
      *form.formula,
      {{"q", input.variance}, {"mu", input.mean}, {"c", input.correlation.value_or(Expr(0))}});
}

}  // namespace
}  // namespace gaussian

std::optional<std::string> closed_form_digits(const Activation& activation, Moment moment,
                                              const Expr& mean, const Expr& variance,
                                              const std::optional<Expr>& correlation, int digits) {
  const gaussian::ExactInput input{mean, variance, correlation};
  gaussian::check(moment, input);
  const std::optional<Expr> value = gaussian::exact_value(activation, moment, input);
  if (!value) return std::nullopt;
  if (symbolic::is_cancelled(*value)) return symbolic::positional_zero(digits);
  return evaluate_digits(*value, digits);
}

}  // namespace scalecalc
