#include "moments/few_features.hpp"

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "moments/attention_norms.hpp"
#include "sample.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

constexpr double few_deviations = 4.5;  // of 40 comparisons

/// (1 + eps) tr J J'^T/n of pairs of n Gaussian features at a cosine.
Sample norm_slopes(int features, double eps, double cosine, unsigned seed) {
  constexpr int draws = 100000;
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  const double n = features, sine = std::sqrt(1 - cosine * cosine);
  Sample found;
  for (int i = 0; i < draws; ++i) {
    double one = 0, other = 0, both = 0;
    for (int j = 0; j < features; ++j) {
      const double x = normal(bits), y = cosine * x + sine * normal(bits);
      one += x * x;
      other += y * y;
      both += x * y;
    }
    const double a = 1 / (one + n * eps), b = 1 / (other + n * eps);
    found.add((1 + eps) * std::sqrt(a * b) * (n - a * one - b * other + a * b * both * both));
  }
  return found;
}

}  // namespace

TEST_CASE("few normed features: gradients of vectors at any cosine, against draws") {
  for (const int features : {4, 6, 12})
    for (const double cosine : {0.0, 0.5, 0.9, 0.99}) {
      CAPTURE(features);
      CAPTURE(cosine);
      const Sample found = norm_slopes(features, 0, cosine, 7);
      CHECK(FewFeatures(features, 1).cross(cosine) ==
            within(found.mean(), few_deviations * found.standard_error()));
    }
}

TEST_CASE(
    "few normed features: beside eps, of one vector and of two that know nothing of each "
    "other") {
  for (const int features : {1, 2, 3, 8})
    for (const double eps : {0.01, 0.3, 2.0}) {
      CAPTURE(features);
      CAPTURE(eps);
      const FewFeatures few(features, 1 / (1 + eps));
      const Sample apart = norm_slopes(features, eps, 0, 8),
                   same = norm_slopes(features, eps, 1, 9);
      CHECK(few.cross(0) == within(apart.mean(), few_deviations * apart.standard_error()));
      CHECK(few.second() == within(same.mean(), few_deviations * same.standard_error()));
      CHECK(few.cross(1) == near(few.second(), by_interpolation));
    }
}

// f = k/(k^2 + eps)^(1/2) has f' = eps/(k^2 + eps)^(3/2), all of it where k^2 is about eps: E f'^2
// is (3 pi/8)/(2 pi eps)^(1/2) but for eps of it, since the density bends by as much there, and for
// what rounding leaves of eps in the share 1/(1 + eps).
TEST_CASE("few normed features: one feature beside a small eps is seldom small, and then steep") {
  for (const double eps : {1e-4, 1e-6, 1e-10}) {
    const double expected = 3 * std::numbers::pi / 8 / std::sqrt(2 * std::numbers::pi * eps);
    CHECK(FewFeatures(1, 1 / (1 + eps)).second() ==
          near(expected, 4 * eps + by_interpolation + rounding(1) / eps));
  }
}

// The cosine of signs has the slope (2/pi)/(1 - c^2)^(1/2).
TEST_CASE("few normed features: the slope of the cosine of unit vectors") {
  for (const double apart : {1.0, 0.3, 1e-3, 1e-8})
    CHECK(unit_slope(1, apart) == near(2 / std::numbers::pi / std::sqrt(apart), by_interpolation));
  // At c = 1 that is E 1/s of n features, of which 1 - 1/n is across.
  for (const double n : {5.0, 8.0, 16.0})
    CHECK(unit_slope(n, 0) == near((1 - 1 / n) * n / (n - 2), by_interpolation));
}

// What a head of 17 features has by an expansion is what integrals have, but for 1/n^2.
TEST_CASE("few normed features: the rule of few goes on as that of many") {
  for (const double cosine : {0.0, 0.4, 0.8}) {
    const double n = 17;
    const HeadNorm many{n, 2 / n, 0, 0};
    const FewFeatures few(n, 1);
    CHECK(many.second(1) == near(few.second(), by_interpolation));
    CHECK(many.cross(cosine, 1) == near(few.cross(cosine), 2 / (n * n)));
  }
}
