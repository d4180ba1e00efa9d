#include "scaling/gains/root.hpp"

#include <algorithm>
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

bool below(const Rational& value, double digits) {
  const Rational bound = tenth_to(static_cast<int>(digits));
  return value < bound && -value < bound;
}

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

Rational tenth_to(int power) {
  return Rational::parse("1e-" + std::to_string(power));
}

Rational rounded(const Rational& value, int digits) {
  if (value.is_zero()) return value;
  return Rational::parse(evaluate_digits(Expr(value), digits));
}

Rational precise_root(const Precise& f, double start, int digits) {
  const int full = digits + 15;
  // A step needs twice the digits that are right before it.
  const auto working = [full](double right) {
    return std::min(full, static_cast<int>(2 * right) + 12);
  };
  double right = 15;
  Rational before = Rational::shortest(start);
  Rational at_before = f(before, working(right));
  if (below(at_before, 2 * right)) {
    at_before = f(before, full);
    if (below(at_before, digits + 5)) return before;
  }
  Rational x = before + tenth_to(17) * (before.is_zero() ? Rational(1) : before);
  // The number of right digits grows as the golden ratio to the number of steps.
  for (; right < 1.7 * full; right *= 1.6) {
    const Rational at_x = f(x, working(right));
    const Rational rise = at_x - at_before;
    // Past this f is the rounding of its own terms.
    if (rise.is_zero() || below(at_x, digits + 10)) break;
    const Rational next = rounded(x - at_x * (x - before) / rise, working(right));
    before = x;
    at_before = at_x;
    x = next;
  }
  return x;
}

}  // namespace scalecalc::gains_room
