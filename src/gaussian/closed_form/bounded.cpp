#include "gaussian/closed_form/bounded.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "symbolic/bivariate_normal.hpp"

namespace scalecalc::gaussian {
namespace {

constexpr long double infinity = std::numeric_limits<long double>::infinity();
/// Roundings that a function of the C library may be off by.
constexpr long double library = 8;

Bounded exponential(const Bounded* x) {
  const long double value = std::exp(x->value);
  if (!(x->error < 0.5L)) return {value, infinity};
  return rounded(value, value * x->error * (1 + x->error), library);
}

Bounded logarithm(const Bounded* x) {
  if (!(x->error < x->value / 2)) return {std::log(x->value), infinity};
  return rounded(std::log(x->value), 2 * x->error / x->value, library);
}

Bounded sine(const Bounded* x) {
  return rounded(std::sin(x->value), x->error, library);
}
Bounded cosine(const Bounded* x) {
  return rounded(std::cos(x->value), x->error, library);
}

Bounded arcsine(const Bounded* x) {
  const long double size = std::fabs(x->value), edge = size + x->error;
  if (!(size <= 1)) return {std::copysign(std::numbers::pi_v<long double> / 2, x->value), infinity};
  const long double error = edge < 1 ? x->error / std::sqrt((1 - edge) * (1 + edge))
                                     : std::acos(std::max(size - x->error, -1.0L));
  return rounded(std::asin(x->value), x->error == 0 ? 0 : error, library);
}

Bounded arccosine(const Bounded* x) {
  const long double size = std::fabs(x->value), edge = size + x->error;
  if (!(size <= 1)) return {0, infinity};
  const long double error = edge < 1 ? x->error / std::sqrt((1 - edge) * (1 + edge))
                                     : std::acos(std::max(size - x->error, -1.0L));
  return rounded(std::acos(x->value), x->error == 0 ? 0 : error, library);
}

Bounded arctangent(const Bounded* x) {
  return rounded(std::atan(x->value), x->error, library);
}

/// density(x)/Phi(x) is below |x| + 1 in the lower tail; elsewhere the density is below 0.4.
Bounded normal(const Bounded* x) {
  const long double value = std::erfc(-x->value * (std::numbers::sqrt2_v<long double> / 2)) / 2;
  const long double error = x->error + 2 * unit * std::fabs(x->value);
  if (x->value > -1) return rounded(value, 0.4L * error, library);
  const long double relative = error * (1 - x->value);
  return rounded(value, relative < 0.1L ? 1.2L * relative * value : infinity, library);
}

Bounded error_function(const Bounded* x) {
  return rounded(std::erf(x->value), 1.13L * x->error, library);
}

Bounded complement(const Bounded* x) {
  const long double value = std::erfc(x->value), relative = 2 * x->error * (x->value + 1);
  if (x->value < 1) return rounded(value, 1.13L * x->error, library);
  return rounded(value, relative < 0.1L ? 1.2L * relative * value : infinity, library);
}

/// |dT/dh| is below 0.2 and below T |h| (1 + a^2); |dT/da| is below 1/(2 pi) and, T being concave
/// in a, below T/a.
Bounded owens_t(const Bounded* x) {
  const long double h = std::fabs(x[0].value), a = std::fabs(x[1].value);
  const long double value = symbolic::arithmetic::owens_t(x[0].value, x[1].value);
  const long double size = std::fabs(value), near = h * (1 + a * a) * x[0].error;
  const long double by_h =
      near < 0.1L ? std::min(0.2L * x[0].error, 1.2L * near * size) : 0.2L * x[0].error;
  const long double by_a =
      x[1].error < a / 2 ? std::min(0.16L, 2 * size / a) * x[1].error : 0.16L * x[1].error;
  return rounded(value, by_h + by_a, 16 + 4 * h * h);
}

/// dP/dr is the joint density, below 1/(2 pi (1 - r^2)^(1/2)).
Bounded bivariate(const Bounded* x) {
  const long double value = symbolic::arithmetic::phi2(x[0].value, x[1].value, x[2].value);
  const long double edge = std::fabs(x[2].value) + x[2].error;
  const long double by_r = x[2].error == 0 ? 0
                           : edge < 1      ? 0.16L * x[2].error / std::sqrt((1 - edge) * (1 + edge))
                                           : 1;
  return {value, 0.4L * (x[0].error + x[1].error) + by_r + library * unit};
}

template <class Compare>
Bounded chosen(const Bounded* x, Compare before) {
  const Bounded& first = before(x[0].value, x[1].value) ? x[0] : x[1];
  return {first.value, std::max(x[0].error, x[1].error)};
}
Bounded greatest(const Bounded* x) {
  return chosen(x, std::greater<>());
}
Bounded least(const Bounded* x) {
  return chosen(x, std::less<>());
}

Bounded sign_of(const Bounded* x) {
  const bool certain = std::fabs(x->value) > x->error || x->error == 0;
  return {static_cast<long double>((x->value > 0) - (x->value < 0)), certain ? 0 : infinity};
}
Bounded step(const Bounded* x) {
  const Bounded sign = sign_of(x);
  return {(1 + sign.value) / 2, sign.error};
}

}  // namespace

Bounded inverse(const Bounded& x) {
  const long double value = 1 / x.value, relative = x.error / std::fabs(x.value);
  if (!(relative < 0.5L)) return {value, infinity};
  return rounded(value, std::fabs(value) * relative * (1 + 2 * relative));
}

Bounded root(const Bounded& x) {
  if (x.value < 0 || !(x.error <= x.value / 2)) {
    const long double top = std::sqrt(std::max(x.value, 0.0L) + x.error);
    return x.value + x.error < 0 ? Bounded{0, infinity} : Bounded{top / 2, top};
  }
  const long double value = std::sqrt(x.value);
  return rounded(value, x.error == 0 ? 0 : x.error / value);
}

Bounded power(const Bounded& x, int exponent) {
  Bounded result{1, 0}, square = x;
  for (unsigned left = static_cast<unsigned>(std::abs(exponent)); left > 0; left /= 2) {
    if (left % 2 != 0) result = product(result, square);
    if (left > 1) square = product(square, square);
  }
  return exponent < 0 ? inverse(result) : result;
}

Bounded power(const Bounded& x, const Bounded& exponent) {
  const Bounded logarithmic = logarithm(&x);
  const Bounded whole = product(exponent, logarithmic);
  return exponential(&whole);
}

BoundedFunction bounded_function(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, BoundedFunction>, 16> known{{
      {"exp", exponential},
      {"log", logarithm},
      {"sin", sine},
      {"cos", cosine},
      {"asin", arcsine},
      {"acos", arccosine},
      {"atan", arctangent},
      {"Phi", normal},
      {"erf", error_function},
      {"erfc", complement},
      {"owens_t", owens_t},
      {"Phi2", bivariate},
      {"max", greatest},
      {"min", least},
      {"sign", sign_of},
      {"step", step},
  }};
  for (const auto& [known_name, function] : known) {
    if (known_name == name) return function;
  }
  return nullptr;
}

}  // namespace scalecalc::gaussian
