#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <optional>

#include "scalecalc/gains.hpp"
#include "scaling/gains/expectation.hpp"

namespace scalecalc {
namespace {

constexpr int double_digits = 20;
constexpr int farthest = 1000;

/// A bound, or nothing for the infinite one.
std::optional<Rational> read_bound(const std::string& text, const char* infinite) {
  if (text == infinite || text == (infinite[0] == '-' ? "-infinity" : "infinity")) {
    return std::nullopt;
  }
  try {
    const Rational bound = Rational::parse(text);
    const Rational size = bound.sign() < 0 ? -bound : bound;
    if (!(Rational(farthest) < size)) return bound;
  } catch (const Error&) {
  }
  throw Error(ErrorKind::input,
              fmt::format("a bound must be a number from -{0} to {0}, -inf or inf", farthest),
              "--bounds, got '" + text.substr(0, 80) + "'", "for example --bounds -2,2");
}

Expr density(const Rational& x) {
  return exp(-pow(Expr(x), 2) / 2) / sqrt(2 * Expr::pi());
}
/// P(z > x).
Expr tail(const Rational& x) {
  return Expr::function("erfc", {Expr(x) / sqrt(Expr(2))}) / 2;
}

/// With Z the mass: E z = (phi(a) - phi(b))/Z, E z^2 = 1 + (a phi(a) - b phi(b))/Z.
class Truncated {
 public:
  Truncated(const std::optional<Rational>& low, const std::optional<Rational>& high) {
    symmetric_ = low && high ? (*low + *high).is_zero() : !low && !high;
    const Expr mass = (low ? tail(*low) : Expr(1)) - (high ? tail(*high) : Expr(0));
    const Expr at_low = low ? density(*low) : Expr(0), at_high = high ? density(*high) : Expr(0);
    mean_ = symmetric_ ? Expr(0) : (at_low - at_high) / mass;
    const Expr edges = (low ? *low * at_low : Expr(0)) - (high ? *high * at_high : Expr(0));
    variance_ = 1 + edges / mass - pow(mean_, 2);
  }

  std::string mean(int digits) const { return symmetric_ ? "0" : evaluate_digits(mean_, digits); }
  std::string variance(int digits) const { return evaluate_digits(variance_, digits); }
  std::string std(int digits) const { return evaluate_digits(sqrt(variance_), digits); }
  std::string correction(int digits) const {
    return evaluate_digits(pow(variance_, Rational(-1, 2)), digits);
  }

 private:
  bool symmetric_ = false;
  Expr mean_, variance_;
};

Estimate estimate(const std::string& digits) {
  const double value = std::strtod(digits.c_str(), nullptr);
  return {value, std::fabs(value) * 0x1p-53, Method::closed_form};
}

}  // namespace

TruncatedNormal truncated_normal(const std::string& low, const std::string& high, int digits) {
  const auto from = read_bound(low, "-inf"), to = read_bound(high, "inf");
  if (from && to && !(*from < *to)) {
    throw Error(ErrorKind::input, "the lower bound must be below the upper one",
                "--bounds " + low + "," + high, "for example --bounds -2,2");
  }
  const Truncated normal(from, to);
  TruncatedNormal result;
  result.mean = estimate(normal.mean(double_digits));
  result.variance = estimate(normal.variance(double_digits));
  result.ratio = result.variance;
  result.correction = estimate(normal.correction(double_digits));
  if (digits > 0) {
    result.digits = {normal.mean(digits), normal.variance(digits), normal.std(digits),
                     normal.correction(digits)};
  }
  return result;
}

TruncatedNormal truncated_normal(double low, double high, int digits) {
  const auto text = [](double bound) { return fmt::format("{}", bound); };
  return truncated_normal(text(low), text(high), digits);
}

}  // namespace scalecalc
