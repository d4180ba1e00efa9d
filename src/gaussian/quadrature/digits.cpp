#include "gaussian/quadrature/digits.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"
#include "gaussian/quadrature/exact_pair.hpp"
#include "gaussian/quadrature/existence.hpp"
#include "gaussian/quadrature/moment_kind.hpp"
#include "symbolic/evaluate.hpp"

namespace scalecalc {
namespace gaussian::quadrature {
namespace {

template <class P>
Number<P> number_of(const Expr& expr, const std::string& what) {
  const symbolic::Interval value = symbolic::enclose(expr, {}, P::bits + 32);
  if (value.is_nan() || !value.lower.is_finite() || !value.upper.is_finite()) {
    throw Error(ErrorKind::input, "the " + what + " has no real value",
                base::shortened(to_string(expr)));
  }
  return to_big<Number<P>>(middle(value));
}

template <class P>
std::optional<ExactIntegral<P>> integral(const Profile& profile, Moment moment,
                                         const ExactInput<P>& input, int digits) {
  if (!is_pair(moment)) return exact_line<P>(profile, moment, input, digits);
  if (abs(input.correlation) < 1) {
    return exact_pair<P>(profile, is_of_slope(moment), input, digits);
  }
  if (input.correlation > 0) moment = square_of(moment);
  return exact_line<P>(profile, moment, input, digits);
}

/// With enough digits for what cancels. A value that stays below all digits of its parts is 0.
/// Nothing when it is too large for any notation.
template <class P>
std::optional<ExactIntegral<P>> settled(const Profile& profile, Moment moment,
                                        const ExactInput<P>& input, int digits) {
  constexpr int most = P::digits + P::guard - 10;
  int working = std::min(digits + 6, most);
  while (true) {
    auto found = integral<P>(profile, moment, input, working);
    if (!found) return std::nullopt;
    ExactIntegral<P>& result = *found;
    const Number<P> wanted = abs(result.value) * pow(Number<P>(10), -digits - 1);
    if (result.error <= wanted) return found;
    const Number<P> floor = result.absolute * pow(Number<P>(10), 2 - working);
    if (result.error > floor) {
      throw Error(ErrorKind::unsolvable,
                  fmt::format("{} digits cannot be reached by quadrature", digits),
                  description(profile, moment), "ask for fewer digits");
    }
    if (working == most) {
      if (abs(result.value) <= floor) result.value = 0;
      return found;
    }
    working = most;
  }
}

/// As point_moment.
template <class P>
Number<P> exact_point(const Profile& profile, Moment moment, const ExactInput<P>& input) {
  const ExactPhi<P> f(profile.activation, is_of_slope(moment));
  const int power = power_of(moment);
  for (const Number<P>& at : f.breaks()) {
    const Number<P> close = pow(Number<P>(10), -P::digits - 16);
    if (abs(at - input.mean) > close) continue;
    const Number<P> below = f(at - close), above = f(at + close);
    const Number<P> c = is_pair(moment) ? input.correlation : Number<P>(1);
    const Number<P> same = asin(c) / exact_pi<P>() + Number<P>(0.5);
    return same * (pow(below, power) + pow(above, power)) / 2 + (1 - same) * below * above;
  }
  return pow(f(input.mean), power);
}

template <class P>
std::string written(const Number<P>& value, int digits) {
  if (value == 0) return symbolic::positional_zero(digits);
  symbolic::Interval point(P::bits);
  point.lower = point.upper = to_real(value, P::bits);
  return symbolic::positional(*symbolic::agreed_digits(point, digits));
}

template <class P>
std::string digits_with(const Activation& activation, Moment moment, const Expr& mean,
                        const Expr& variance, const std::optional<Expr>& correlation, int digits) {
  ExactInput<P> input;
  input.mean = number_of<P>(mean, "mean");
  const Number<P> q = number_of<P>(variance, "variance");
  input.rounded = {static_cast<double>(input.mean), static_cast<double>(q), std::nullopt};
  if (correlation) {
    input.correlation = number_of<P>(*correlation, "correlation");
    input.rounded.correlation = static_cast<double>(input.correlation);
  }
  check_input(input.rounded, moment);
  if (is_pair(moment) && abs(input.correlation) > 1) {
    throw Error(ErrorKind::input, "the correlation must be between -1 and 1",
                base::shortened(to_string(*correlation)));
  }
  input.std = sqrt(q);
  const Profile& profile = profile_of(activation);
  check_existence(profile, moment, input.rounded);
  if (q == 0) return written<P>(exact_point<P>(profile, moment, input), digits);
  const auto result = settled<P>(profile, moment, input, digits);
  if (!result) {
    throw Error(ErrorKind::input, "this expectation is too large to be written out",
                description(profile, moment), "take a smaller mean or variance");
  }
  return written<P>(result->value, digits);
}

}  // namespace

Estimate exact_estimate(const Profile& profile, Moment moment, const GaussianInput& rounded) {
  constexpr int digits = 20;
  ExactInput<Shorter> input;
  input.mean = rounded.mean;
  input.std = sqrt(Number<Shorter>(rounded.variance));
  input.rounded = rounded;
  if (rounded.correlation) input.correlation = *rounded.correlation;
  const auto result = settled<Shorter>(profile, moment, input, digits);
  const auto value = result ? static_cast<double>(result->value) : infinite;
  if (!std::isfinite(value)) too_large(profile, moment);
  const double error = static_cast<double>(result->error) +
                       std::numeric_limits<double>::epsilon() * std::fabs(value);
  return {value, error + std::numeric_limits<double>::denorm_min(), Method::quadrature};
}

}  // namespace gaussian::quadrature

std::string quadrature_digits(const Activation& activation, Moment moment, const Expr& mean,
                              const Expr& variance, const std::optional<Expr>& correlation,
                              int digits) {
  using namespace gaussian::quadrature;
  if (digits < 1 || digits > Longer::digits) {
    throw Error(ErrorKind::input, fmt::format("{} digits cannot be given", digits), "digits",
                fmt::format("from 1 to {}", Longer::digits));
  }
  return digits <= Shorter::digits
             ? digits_with<Shorter>(activation, moment, mean, variance, correlation, digits)
             : digits_with<Longer>(activation, moment, mean, variance, correlation, digits);
}

}  // namespace scalecalc
