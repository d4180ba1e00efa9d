#include <random>

#include "softmax_support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

// The target of the interpolation, and the integrals' own 1e-8.
TEST_CASE("a curve is within a millionth of the integrals") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (const std::int64_t keys : {2, 24, 1024}) {
    for (const auto& [base, ratio] : {std::pair{0.0, 0.01}, {0.0, 1.0}, {0.0, 4.0}, {1.5, 0.0}}) {
      CAPTURE(keys);
      CAPTURE(base);
      CAPTURE(ratio);
      const SoftmaxCurve curve(keys, base, ratio);
      CHECK(curve.measured_error() <= 1e-6);
      for (int i = 0; i < 10; ++i) {
        const double c = 1 - std::pow(uniform(random), 1 + i % 3), tau2 = base + ratio * (1 - c);
        CAPTURE(c);
        const SoftmaxAverages found = curve(c), exact = softmax_averages(keys, tau2, c);
        CHECK(relative(found.one.p2, exact.one.p2) < 1.5e-6);
        CHECK(relative(found.one.a, exact.one.a) < 1.5e-6);
        CHECK(relative(found.two.overlap, exact.two.overlap) < 1.5e-6);
        CHECK(relative(found.two.a_prime, exact.two.a_prime) < 1.5e-6);
        CHECK(relative(found.one.t2, exact.one.t2) < 1.5e-6);
        CHECK(std::abs(found.one.ha - exact.one.ha) < 1.5e-6 * exact.one.p2);
        CHECK(found.two.error == curve.measured_error());
      }
    }
  }
}

TEST_CASE("sharp scores need more nodes and get them") {
  const SoftmaxCurve curve(32, 0.0, 60.0);
  // Ten times the aim of 1e-6 that fewer nodes reach of less sharp scores.
  CHECK(curve.measured_error() <= 1e-5);
  const SoftmaxAverages found = curve(0.5), exact = softmax_averages(32, 30.0, 0.5);
  CHECK(relative(found.two.overlap, exact.two.overlap) <= 2 * curve.measured_error());
}

TEST_CASE("the ends of a curve") {
  const SoftmaxCurve curve(8, 0.0, 2.0, -0.1);
  CHECK(relative(curve(1.0).one.p2, 0.125) < softmax_share);
  CHECK(relative(curve(1.0).two.overlap, 0.125) < softmax_share);
  CHECK(curve(1.0 + 1e-12).one.p2 == curve(1.0).one.p2);
  CHECK(curve.covers(-0.1));
  CHECK(!curve.covers(-0.2));
  CHECK_THROWS_AS(curve(-0.2), Error);
  CHECK_THROWS_AS(curve(1.1), Error);
  CHECK_THROWS_AS(curve(std::nan("")), Error);
  CHECK_THROWS_AS(SoftmaxCurve(8, 0.0, 1001.0), Error);
  CHECK_THROWS_AS(SoftmaxCurve(0, 0.0, 1.0), Error);
  CHECK_THROWS_AS(SoftmaxCurve(8, -1.0, 1.0), Error);
}
