#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "scalecalc/verify.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("a line through points on a line is that line") {
  const LineFit fit = fit_line({1, 2, 4, 8}, {5, 8, 14, 26});
  CHECK(fit.slope == rounded(3, 64));
  CHECK(fit.intercept == rounded(2, 64));
  CHECK(fit.slope_standard_error < rounding(64));
  const LineFit two = fit_line({1, 3}, {1, 0});
  CHECK(two.slope == -0.5);
  CHECK(two.intercept == 1.5);
  CHECK(two.slope_standard_error == 0);
}

TEST_CASE("a hand-computed fit with residuals") {
  // x - 2 = -1 0 1, y - 2 = -1 1 0: slope 1/2, residuals -1/2 1 -1/2, variance (3/2)/1/2.
  const LineFit fit = fit_line({1, 2, 3}, {1, 3, 2});
  CHECK(fit.slope == rounded(0.5, 8));
  CHECK(fit.slope_standard_error == rounded(std::sqrt(0.75), 8));
}

TEST_CASE("far from the origin the fit keeps its digits") {
  const LineFit fit = fit_line({1e8, 1e8 + 1, 1e8 + 2}, {7, 9, 11});
  CHECK(fit.slope == rounded(2, 64));
}

TEST_CASE("the standard error covers the true slope as often as Student's t says") {
  // Eight points: 6 degrees of freedom, the 95% point of t is 2.4469.
  constexpr int fits = 4000;
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal(0, 0.3);
  int covered = 0;
  for (int i = 0; i < fits; ++i) {
    std::vector<double> x, y;
    for (int j = 0; j < 8; ++j) {
      x.push_back(j);
      y.push_back(1.5 - 0.25 * j + normal(generator));
    }
    const LineFit fit = fit_line(x, y);
    if (std::fabs(fit.slope + 0.25) < 2.4469 * fit.slope_standard_error) ++covered;
  }
  const double standard_error = std::sqrt(0.95 * 0.05 / fits);
  CHECK(std::fabs(covered / static_cast<double>(fits) - 0.95) < 4 * standard_error);
}

TEST_CASE("points that give no line are an error") {
  CHECK_THROWS_AS(fit_line({}, {}), Error);
  CHECK_THROWS_AS(fit_line({1}, {1}), Error);
  CHECK_THROWS_AS(fit_line({1, 2}, {1, 2, 3}), Error);
  CHECK_THROWS_AS(fit_line({2, 2, 2}, {1, 2, 3}), Error);
}
