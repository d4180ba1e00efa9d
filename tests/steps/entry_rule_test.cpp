#include "steps/entry_rule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tolerance.hpp"

using namespace scalecalc::steps;
using scalecalc::testing::within;

namespace {

/// E f, E f (G - m)/d^2 and E f^2 over G ~ N(m, d^2), by the midpoint rule: its error at a jump of
/// size 2 is below the step times the density.
struct Sums {
  double mean = 0, slope = 0, square = 0, error = 0;
};
Sums sums_of(const std::function<double(double)>& f, double mean, double deviation) {
  constexpr int count = 200000;
  constexpr double reach = 9;
  const double step = 2 * reach / count;
  Sums made;
  for (int i = 0; i < count; ++i) {
    const double z = -reach + (i + 0.5) * step;
    const double weight = step * std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
    const double value = f(mean + deviation * z);
    made.mean += weight * value;
    made.slope += weight * value * z / deviation;
    made.square += weight * value * value;
  }
  made.error = 2 * step;
  return made;
}

void agrees(const EntryRule& rule, const std::function<double(double)>& f, double size) {
  for (const double mean : {0.0, 0.3, -2.0})
    for (const double deviation : {0.1, 1.0, 7.0}) {
      const EntryMoments made = entry_moments(rule, mean, deviation);
      const Sums sums = sums_of(f, mean, deviation);
      // Simpson's rule of the soft sign has 400 steps; its own error is far below the sums'.
      CHECK(made.mean == within(sums.mean, size * sums.error));
      CHECK(made.slope == within(sums.slope, size * sums.error * 9 / deviation));
      CHECK(made.square == within(sums.square, size * size * sums.error));
    }
}

}  // namespace

TEST_CASE("entry rules: averages are those of the integrals") {
  agrees(
      {EntryRule::Kind::sign, 0, 0}, [](double g) { return g > 0 ? 1.0 : -1.0; }, 1);
  for (const double eps : {1e-3, 0.2, 5.0})
    agrees(
        {EntryRule::Kind::sign, eps, 0}, [eps](double g) { return g / (std::fabs(g) + eps); }, 1);
  agrees(
      {EntryRule::Kind::itself, 0, 0.5}, [](double g) { return std::clamp(g, -0.5, 0.5); }, 1);
}

TEST_CASE("entry rules: a point mass, and limits of eps and of the bound") {
  const EntryMoments sign = entry_moments({EntryRule::Kind::sign, 0, 0}, -2, 0);
  CHECK(sign.mean == -1);
  CHECK(sign.square == 1);
  CHECK(entry_moments({EntryRule::Kind::sign, 0, 0}, 0, 0).square == 0);
  const EntryMoments free = entry_moments({EntryRule::Kind::itself, 0, 0}, 3, 4);
  CHECK(free.mean == 3);
  CHECK(free.slope == 1);
  CHECK(free.square == 25);
  const EntryMoments row = entry_moments({EntryRule::Kind::row_over_rms, 0, 0}, 3, 4);
  CHECK(row.mean == 3.0 / 5);
  CHECK(row.slope == 1.0 / 5);
  CHECK(row.square == 1);
}
