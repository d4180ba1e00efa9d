#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "scalecalc/error.hpp"
#include "scalecalc/softmax.hpp"
#include "tolerance.hpp"

using namespace scalecalc;

namespace {

/// tr J^4 of J = diag(p) - p p^T, by the matrix.
double fourth(const std::vector<double>& p) {
  const std::size_t n = p.size();
  std::vector<double> j(n * n), square(n * n, 0.0);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) j[a * n + b] = (a == b ? p[a] : 0) - p[a] * p[b];
  double trace = 0;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      for (std::size_t c = 0; c < n; ++c) square[a * n + b] += j[a * n + c] * j[c * n + b];
      trace += square[a * n + b] * square[a * n + b];
    }
  return trace;
}

}  // namespace

TEST_CASE("softmax_slope_fourth: of two keys, an integral over one Gaussian") {
  for (const double tau2 : {1e-3, 0.1, 1.0, 4.0, 30.0}) {
    CAPTURE(tau2);
    // The eigenvalue is 2 p (1 - p), p the logistic function of a difference of variance 2 tau2;
    // the trapezoidal rule converges beyond double precision.
    double sum = 0;
    constexpr double step = 1.0 / 256;
    for (int i = -12 * 256; i <= 12 * 256; ++i) {
      const double z = i * step, p = 1 / (1 + std::exp(-std::sqrt(2 * tau2) * z));
      sum += std::exp(-z * z / 2) * std::pow(2 * p * (1 - p), 4);
    }
    const double exact = sum * step / std::sqrt(2 * std::acos(-1.0));
    const Estimate found = softmax_slope_fourth(2, tau2);
    CHECK(std::abs(found.value - exact) <= found.error + testing::rounding(6145) * exact);
    // Terms of both signs leave a thousandth of themselves, each to 1e-9.
    CHECK(found.error <= 3e-6 * exact);
  }
}

TEST_CASE("softmax_slope_fourth: of drawn rows") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const std::int64_t keys : {3, 16, 40})
    for (const double tau2 : {0.2, 1.0, 3.0}) {
      CAPTURE(keys);
      CAPTURE(tau2);
      constexpr int draws = 1500;
      double mean = 0, squares = 0;
      for (int i = 0; i < draws; ++i) {
        std::vector<double> p(static_cast<std::size_t>(keys));
        double sum = 0;
        for (double& each : p) sum += each = std::exp(std::sqrt(tau2) * normal(random));
        for (double& each : p) each /= sum;
        const double value = fourth(p);
        mean += value / draws;
        squares += value * value / draws;
      }
      const double error = std::sqrt((squares - mean * mean) / draws);
      // Nine comparisons: one beyond four standard errors in two thousand runs.
      CHECK(std::abs(softmax_slope_fourth(keys, tau2).value - mean) <= 4 * error);
    }
}

TEST_CASE("softmax_slope_fourth: equal weights, one key, and what is refused") {
  CHECK(softmax_slope_fourth(1, 2.0).value == 0);
  CHECK(softmax_slope_fourth(8, 0.0).value == doctest::Approx(7.0 / 4096));
  // E tr J^4 to first order in tau2: the limit is reached continuously.
  CHECK(softmax_slope_fourth(8, 1e-9).value == doctest::Approx(7.0 / 4096).epsilon(1e-6));
  CHECK_THROWS_AS(softmax_slope_fourth(0, 1.0), Error);
  CHECK_THROWS_AS(softmax_slope_fourth(8, -1.0), Error);
}
