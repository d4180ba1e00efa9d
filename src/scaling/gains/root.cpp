#include "scaling/gains/root.hpp"

#include <boost/math/tools/roots.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>

#include "scaling/gains/expectation.hpp"

namespace scalecalc::gains_room {
namespace {

constexpr std::uintmax_t most_steps = 200;
/// A function of size 1 made of moments good to 1e-13 has no sign below this.
constexpr double noise = 2e-13;

}  // namespace

std::vector<double> grid(double low, double high, int count) {
  std::vector<double> points;
  for (int k = 0; k < count; ++k) points.push_back(low + (high - low) * k / (count - 1));
  return points;
}

std::vector<double> scan() {
  return grid(-12 * std::log(10.0), 8 * std::log(10.0), 161);
}

std::vector<Bracket> sign_changes(const std::vector<double>& values,
                                  const std::vector<double>& points) {
  std::vector<Bracket> brackets;
  double before = 0, at = 0;
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (!std::isfinite(values[k]) || std::fabs(values[k]) < noise) continue;
    if (before * values[k] < 0) brackets.push_back({at, points[k]});
    before = values[k];
    at = points[k];
  }
  return brackets;
}
std::vector<Bracket> sign_changes(const Function& f, const std::vector<double>& points) {
  std::vector<double> values;
  for (const double point : points) values.push_back(f(point));
  return sign_changes(values, points);
}

Root bracketed_root(const Function& f, const Bracket& bracket) {
  if (bracket.low == bracket.high) return {bracket.low, f(bracket.low)};
  std::uintmax_t steps = most_steps;
  const auto [low, high] = boost::math::tools::toms748_solve(
      f, bracket.low, bracket.high, boost::math::tools::eps_tolerance<double>(53), steps);
  const double at_low = f(low), at_high = f(high);
  return std::fabs(at_low) < std::fabs(at_high) ? Root{low, at_low} : Root{high, at_high};
}

Root newton_root(const WithSlope& f, const Bracket& bracket) {
  if (bracket.low == bracket.high) return {bracket.low, f(bracket.low).first};
  std::uintmax_t steps = most_steps;
  const double root = boost::math::tools::newton_raphson_iterate(
      f, (bracket.low + bracket.high) / 2, bracket.low, bracket.high, 53, steps);
  return {root, f(root).first};
}

Rational rounded(const Rational& value, int digits) {
  if (value.is_zero()) return value;
  return Rational::parse(evaluate_digits(Expr(value), digits));
}

Rational precise_root(const Precise& f, double start, int digits) {
  const int working = digits + 15;
  Rational before = decimal(start);
  Rational x = before + Rational::parse("1e-17") * (before.is_zero() ? Rational(1) : before);
  Rational at_before = f(before, working);
  // The number of right digits grows as the golden ratio to the number of steps.
  for (double right = 15; right < 1.7 * working; right *= 1.6) {
    const Rational at_x = f(x, working);
    const Rational rise = at_x - at_before;
    if (rise.is_zero()) break;
    const Rational next = rounded(x - at_x * (x - before) / rise, working);
    before = x;
    at_before = at_x;
    if (next == x) break;
    x = next;
  }
  return x;
}

}  // namespace scalecalc::gains_room
