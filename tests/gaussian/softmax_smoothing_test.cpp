#include "gaussian/softmax/smoothing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace scalecalc::gaussian::softmax;

namespace {

double moment(const GaussianWeights& weights, int power) {
  double sum = 0;
  for (int m = -weights.reach(); m <= weights.reach(); ++m) {
    sum += weights.data()[m + weights.reach()] * std::pow(m, power);
  }
  return sum;
}

}  // namespace

// The stencil is exact for polynomials; the sampled Gaussian aliases by 2 exp(-2 pi^2 s^2), which
// is 8e-14 at s = 1.25. Both round in sums of numbers up to reach^power.
TEST_CASE("the weights have the moments of the Gaussian") {
  for (const double s : {0.01, 0.3, 1.0, 1.24, 1.26, 2.0, 10.0}) {
    CAPTURE(s);
    const GaussianWeights weights(0.3 * s, 0.3);
    CHECK(std::abs(moment(weights, 0) - 1.0) < 1e-12);
    CHECK(std::abs(moment(weights, 1)) < 1e-12);
    CHECK(std::abs(moment(weights, 2) / (s * s) - 1.0) < 1e-8);
    CHECK(std::abs(moment(weights, 4) / (3.0 * s * s * s * s) - 1.0) < 1e-4);
    CHECK(std::abs(weights.above(-1000) - 1.0) < 1e-12);
    CHECK(weights.above(1000) == 0.0);
  }
  CHECK(GaussianWeights(0.0, 0.3).reach() == 0);
}

// Where t = e^y is small, E g_k = e^{ky + k^2 sigma^2/2} (1 - t e^{(2k+1) sigma^2/2} + ...).
TEST_CASE("the averages have their exponential tails") {
  for (const double sigma : {0.0, 1e-3, 0.05, 0.4, 1.0}) {
    CAPTURE(sigma);
    const SmoothedBumps bumps(sigma, 0.25, 0.2, 4);
    const double y = -25.0;
    const Averages at = bumps.at(-100);
    // The next term of the tail is e^y = 1.4e-11.
    CHECK(std::abs(at.fall / std::exp(y + 0.5 * sigma * sigma) - 1.0) < 1e-10);
    for (int k = 1; k <= 4; ++k) {
      const double exact = std::exp(k * y + 0.5 * k * k * sigma * sigma);
      const double next = std::exp(y + (k + 0.5) * sigma * sigma);
      CHECK(std::abs(at.g[static_cast<std::size_t>(k)] / exact - 1.0 + next) < 1e-11);
    }
  }
}

TEST_CASE("far up, everything has fallen; far down, nothing") {
  for (const double sigma : {0.0, 0.3, 5.0, 31.0}) {
    const SmoothedBumps bumps(sigma, 0.25, 0.2, 4);
    const Averages up = bumps.at(4000), down = bumps.at(-4000);
    // Weights of the lattice sum to 1 as above.
    CHECK(std::abs(up.fall - 1.0) < 1e-12);
    CHECK(up.g[2] == 0.0);
    CHECK(down.fall == 0.0);
    CHECK(down.g[1] == 0.0);
  }
}

TEST_CASE("finer lattices give the same averages") {
  for (const double sigma : {0.02, 0.1, 0.25, 0.6, 2.0, 15.0, 31.6}) {
    const SmoothedBumps coarse(sigma, 0.25, 0.2, 4), fine(sigma, 0.25, 0.05, 4);
    for (const std::int64_t n : {-60, -20, -4, 0, 4, 8}) {
      CAPTURE(sigma);
      CAPTURE(n);
      const Averages a = coarse.at(n), b = fine.at(n);
      // The transform of g_k at 2 pi/0.2 is below 1e-13 of its integral, for k = 4 1e-10.
      CHECK(std::abs(a.fall / b.fall - 1.0) < 1e-11);
      CHECK(std::abs(a.g[1] - b.g[1]) < 1e-11);
      CHECK(std::abs(a.g[2] - b.g[2]) < 1e-11);
      CHECK(std::abs(a.g[4] - b.g[4]) < 1e-8);
    }
  }
}
