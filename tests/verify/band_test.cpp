#include "verify/agreement/band.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tolerance.hpp"

namespace scalecalc {
namespace {

using namespace testing;

constexpr double infinite = std::numeric_limits<double>::infinity();

Case square(double mean, const std::vector<double>& samples) {
  Case one{"site", "linear", "second", {}, &samples};
  one.expected.mean = one.expected.typical = mean;
  one.expected.is_square = true;
  return one;
}

Case cross(double mean, const std::vector<double>& samples) {
  Case one = square(mean, samples);
  one.quantity = "cross";
  one.expected.is_square = false;
  return one;
}

Quantiles wide_by(double deviations) {
  return {deviations, 1, 1};
}

// t(4) at 0.995 and chi^2(4) at 0.005 and 0.995 from printed tables.
TEST_CASE("one comparison has the quantiles of the tables") {
  const Quantiles quantiles = simultaneous_quantiles(1, 5, 0.99);
  CHECK(quantiles.deviations == printed(4.6041, 5e-5));
  CHECK(quantiles.least_variance == within(4 / 14.8603, 4 / 14.8603 * (5e-5 / 14.8603)));
  CHECK(quantiles.most_variance == within(4 / 0.20699, 4 / 0.20699 * (5e-6 / 0.20699)));
}

TEST_CASE("more comparisons widen the band, more seeds narrow it") {
  const double few = simultaneous_quantiles(10, 64, 0.99).deviations;
  CHECK(few < simultaneous_quantiles(1000, 64, 0.99).deviations);
  CHECK(few > simultaneous_quantiles(10, 1000, 0.99).deviations);
  CHECK(few < simultaneous_quantiles(10, 64, 0.999).deviations);
}

TEST_CASE("the band is quantile x standard error + error") {
  const std::vector<double> samples = {1, 2, 3, 2};  // mean 2, standard error 1/sqrt(6)
  Case one = cross(3, samples);
  one.expected.error = 0.25;
  const Comparison comparison = judge(one, false, wide_by(2));
  CHECK(comparison.measured == doctest::Approx(2));
  CHECK(comparison.standard_error == doctest::Approx(1 / std::sqrt(6.0)));
  CHECK(comparison.z == doctest::Approx(-std::sqrt(6.0)));
  CHECK(comparison.band == doctest::Approx(2 / std::sqrt(6.0) + 0.25));
  CHECK(comparison.ok);
  one.expected.error = 0.15;
  CHECK_FALSE(judge(one, false, wide_by(2)).ok);
}

// Half an event is expected and none happened: every sample is the same, and the mean lies below
// the prediction by all of what events make. Poisson quantiles at 0.005: 0 and 3 of 0.5 expected.
TEST_CASE("rare events that did not happen are within the band") {
  const std::vector<double> samples = {1, 1, 1, 1};
  Case one = cross(1.2, samples);
  CHECK_FALSE(judge(one, false, wide_by(3)).ok);
  one.expected.rare = 0.2;
  one.expected.rare_events = 0.5;
  Comparison comparison = judge(one, false, wide_by(3));
  CHECK(comparison.ok);
  // sigma is 0.2/sqrt(0.5) = 0.283; what 3 of it allow is more than all events make.
  CHECK(comparison.band == doctest::Approx(3 * 0.2 / std::sqrt(0.5)));
  const std::vector<double> many = {1.9, 1.9, 1.9, 1.9};  // 4.5 events, more than 3
  one.samples = &many;
  one.expected.mean = 0.2;
  comparison = judge(one, false, wide_by(3));
  CHECK(comparison.band == doctest::Approx(0.2 * (3 / 0.5 - 1)));
  CHECK_FALSE(comparison.ok);
}

TEST_CASE("a predicted spread makes a lucky scatter harmless") {
  const std::vector<double> samples = {1.1, 1.1, 1.1, 1.1};
  Case one = cross(1, samples);
  CHECK_FALSE(judge(one, false, wide_by(4)).ok);
  one.expected.log_variance = std::log1p(0.04);  // a standard deviation of 0.2 x 1
  const Comparison comparison = judge(one, false, wide_by(4));
  CHECK(comparison.z == doctest::Approx(1));
  CHECK(comparison.band == doctest::Approx(0.4));
  CHECK(comparison.ok);
}

TEST_CASE("a value that no draw moves is held to the rounding of its sums") {
  const double epsilon = std::numeric_limits<double>::epsilon();
  const std::vector<double> exact = {1, 1, 1}, near = {1 + 4 * epsilon, 1 - 2 * epsilon, 1};
  const std::vector<double> off = {1 + 1e-10, 1 + 1e-10, 1 + 1e-10};
  const auto one = [&](const std::vector<double>& samples) {
    Case norm = square(1, samples);
    norm.expected.rounding = 64 * epsilon;
    return judge(norm, false, wide_by(4));
  };
  CHECK(one(exact).ok);
  CHECK(one(exact).z == 0);
  CHECK(one(near).ok);
  CHECK_FALSE(one(off).ok);
}

TEST_CASE("zero is compared with zero") {
  const std::vector<double> zeros = {0, 0, 0}, some = {1e-200, 1e-200, 1e-200};
  CHECK(judge(square(0, zeros), false, wide_by(4)).ok);
  CHECK(judge(square(0, zeros), false, wide_by(4)).z == 0);
  CHECK_FALSE(judge(square(0, some), false, wide_by(4)).ok);
  CHECK_FALSE(judge(square(1, zeros), false, wide_by(4)).ok);
}

TEST_CASE("an infinity or a NaN fails, and huge values do not become one") {
  const std::vector<double> overflown = {1, infinite, 1};
  const std::vector<double> unknown = {1, std::nan(""), 1};
  CHECK_FALSE(judge(square(1, overflown), false, wide_by(4)).ok);
  CHECK_FALSE(judge(square(1, unknown), false, wide_by(4)).ok);
  CHECK_FALSE(wants_logarithms(square(1, overflown), false));
  const std::vector<double> huge = {1e300, 1.1e300, 0.9e300};
  const Comparison comparison = judge(cross(5e300, huge), false, wide_by(4));
  CHECK(std::isfinite(comparison.band));
  CHECK_FALSE(comparison.ok);
}

TEST_CASE("logarithms are compared where the spread is large") {
  const std::vector<double> close = {1, 1.1, 0.9, 1.05}, wide = {0.1, 1, 10, 1},
                            mixed = {-1, 1, 10, 0.1};
  CHECK_FALSE(wants_logarithms(square(1, close), false));
  CHECK(wants_logarithms(square(1, wide), false));
  Case predicted = square(1, close);
  predicted.expected.log_variance = 0.2;
  CHECK(wants_logarithms(predicted, false));
  // Of rare events it is the relative variance, and exp(-variance/2) is 0.
  predicted.expected.log_variance = 2900;
  CHECK_FALSE(wants_logarithms(predicted, false));
  const Comparison of_rare = judge(predicted, false, wide_by(4));
  CHECK(of_rare.predicted == 1);
  CHECK(std::isfinite(of_rare.band));
  CHECK(of_rare.ok);
  CHECK_FALSE(wants_logarithms(cross(1, wide), false));
  CHECK(wants_logarithms(cross(1, wide), true));
  CHECK_FALSE(wants_logarithms(cross(1, mixed), true));
  CHECK_FALSE(wants_logarithms(square(0, wide), false));
  Case rounded = square(1e-20, wide);
  rounded.expected.rounding = 1e-18;
  CHECK_FALSE(wants_logarithms(rounded, false));
}

TEST_CASE("typical values are geometric means") {
  const std::vector<double> samples = {0.5, 2, 0.5, 2};  // logarithms of variance 4/3 ln^2 2
  const double variance = 4.0 / 3 * std::log(2) * std::log(2);
  Case one = square(std::exp(variance / 2), samples);
  one.expected.typical = 1;
  one.expected.log_variance = variance;
  const Comparison comparison = judge(one, true, wide_by(3));
  CHECK(comparison.in_log_space);
  CHECK(comparison.measured == doctest::Approx(1));
  CHECK(comparison.predicted == doctest::Approx(1));
  CHECK(comparison.standard_error == doctest::Approx(std::sqrt(variance / 4)));
  CHECK(comparison.ok);
}

TEST_CASE("without a predicted spread the typical value follows from the measured one") {
  const std::vector<double> samples = {0.5, 2, 0.5, 2};
  const double variance = 4.0 / 3 * std::log(2) * std::log(2);
  const Comparison comparison = judge(square(std::exp(variance / 2), samples), true, wide_by(3));
  CHECK(comparison.predicted == doctest::Approx(1));
  CHECK(std::abs(comparison.z) < rounding(64));
}

TEST_CASE("a prediction that is off fails in logarithms too, by the band it is shown with") {
  const std::vector<double> samples = {0.5, 2, 0.5, 2};
  for (const double factor : {0.01, 0.5, 2.0, 100.0}) {
    Case one = square(factor, samples);
    one.expected.log_variance = 0.6;
    const Comparison comparison = judge(one, true, wide_by(3));
    CHECK(comparison.ok ==
          (std::abs(comparison.measured - comparison.predicted) <= comparison.band));
    CHECK(comparison.ok == (factor == 0.5 || factor == 2.0));
  }
}

}  // namespace
}  // namespace scalecalc
