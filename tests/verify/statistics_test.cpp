#include "verify/statistics.hpp"
#include "tolerance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

SweepResult result_of(const std::vector<std::int64_t>& layers,
                      const std::vector<std::vector<double>>& samples) {
  SweepResult result;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    SweepPoint point;
    point.layers = layers[i];
    point.samples = samples[i];
    result.points.push_back(point);
  }
  summarise(result);
  return result;
}

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a power law gives its exponent, each seed with its own factor") {
  const SweepResult result = result_of({2, 8, 32}, {{2, 2.2}, {4, 4.4}, {8, 8.8}});
  CHECK(result.exponent == rounded(0.5, 64));
  CHECK(result.exponent_standard_error < 1e-14);  // the seeds' factors drop out
  CHECK_FALSE(result.by_median);
  CHECK(result.finite);
  CHECK(result.no_exponent.empty());
  CHECK(result.points[1].value == rounded(4.2, 8));
  CHECK(result.points[1].standard_error == rounded(0.2, 64));
}

TEST_CASE("a large spread turns to medians") {
  // Variances of the logarithm: 0 and log(100)^2 * 2/3.
  const SweepResult result = result_of({1, 10}, {{1, 1, 1, 1}, {10, 1000, 10, 0.1}});
  CHECK(result.by_median);
  CHECK(result.points[1].value == 10);
  CHECK(result.points[1].median == 10);
  CHECK(result.points[1].mean == doctest::Approx(255.025));
  CHECK(result.exponent == rounded(1, 64));
  const double deviation = std::sqrt(8.0 / 3.0);  // of the slopes 1 3 1 -1
  CHECK(result.exponent_standard_error ==
        rounded(std::sqrt(std::acos(-1.0) / 2) * deviation / 2, 64));
}

TEST_CASE("the variance of the logarithm decides, at 0.1") {
  // Two samples e^(+-a): the variance of the logarithm is 2 a^2.
  const auto by_median = [](double variance) {
    const double a = std::sqrt(variance / 2);
    return result_of({1, 2}, {{1, 1}, {std::exp(a), std::exp(-a)}}).by_median;
  };
  CHECK_FALSE(by_median(0.0999));
  CHECK(by_median(0.1001));
}

TEST_CASE("one seed: the fit's own error, unknown at two depths") {
  const SweepResult three = result_of({1, 2, 4}, {{1}, {8}, {4}});
  // In units of log 2: y = 0 3 2 at x = 0 1 2: slope 1, residuals -2/3 4/3 -2/3.
  CHECK(three.exponent == rounded(1, 64));
  CHECK(three.exponent_standard_error == rounded(std::sqrt(24.0 / 9 / 2), 64));
  CHECK(std::isnan(three.points[0].standard_error));
  const SweepResult two = result_of({1, 2}, {{1}, {8}});
  CHECK(two.exponent == rounded(3, 64));
  CHECK(std::isnan(two.exponent_standard_error));
}

TEST_CASE("no exponent without a reason") {
  const SweepResult one = result_of({4}, {{1, 2}});
  CHECK(std::isnan(one.exponent));
  CHECK(one.finite);
  CHECK(one.no_exponent == "an exponent needs two depths at least");

  const SweepResult zero = result_of({1, 2}, {{1, 2}, {0, 2}});
  CHECK(std::isnan(zero.exponent));
  CHECK(std::isnan(zero.exponent_standard_error));
  CHECK(zero.finite);
  CHECK(zero.points[1].value == 1);
  CHECK(zero.no_exponent == "a value is not positive, so it has no logarithm");

  for (const double bad : {inf, -inf, std::nan("")}) {
    const SweepResult broken = result_of({1, 2}, {{1, 2}, {bad, 2}});
    CHECK_FALSE(broken.finite);
    CHECK(std::isnan(broken.exponent));
    CHECK(broken.no_exponent == "a pass gave an infinity or a NaN");
    CHECK(broken.points[0].value == 1.5);
  }
}

TEST_CASE("standard errors cover: lognormal seeds, by mean and by median") {
  // 400 sweeps of 64 seeds; a share of about 95% must lie within 1.96 standard errors. The median's
  // error is asymptotic: at 64 seeds its true spread is within 1% of sqrt(pi/2) sigma/sqrt(64).
  for (const double sigma : {0.2, 1.0}) {
    CAPTURE(sigma);
    std::mt19937_64 generator(11);
    std::normal_distribution<double> normal(0, sigma);
    constexpr int sweeps = 400;
    int slopes = 0, values = 0;
    for (int i = 0; i < sweeps; ++i) {
      std::vector<std::vector<double>> samples(2);
      for (std::vector<double>& depth : samples)
        for (int s = 0; s < 64; ++s) depth.push_back(std::exp(normal(generator)));
      const SweepResult result = result_of({1, 16}, samples);
      CHECK(result.by_median == (sigma > 0.5));
      if (std::fabs(result.exponent) < 1.96 * result.exponent_standard_error) ++slopes;
      const double truth = result.by_median ? 1 : std::exp(sigma * sigma / 2);
      const SweepPoint& point = result.points[0];
      if (std::fabs(point.value - truth) < 1.96 * point.standard_error) ++values;
    }
    const double band = 4 * std::sqrt(0.95 * 0.05 / sweeps);
    CHECK(std::fabs(slopes / static_cast<double>(sweeps) - 0.95) < band);
    CHECK(std::fabs(values / static_cast<double>(sweeps) - 0.95) < band);
  }
}
