#include "tensor/inverse_normal.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tensor/draw.hpp"

namespace scalecalc::tensor {
namespace {

/// Phi^-1(p) for p < 1/2 by Newton's method on ln Phi, Phi from erfc in long double.
long double by_erfc(long double p) {
  const long double sqrt2 = std::numbers::sqrt2_v<long double>;
  long double z = -std::sqrt(-2.0L * std::log(2.0L * p));
  for (int step = 0; step < 60; ++step) {
    const long double cdf = 0.5L * std::erfc(-z / sqrt2);
    const long double density =
        std::exp(-0.5L * z * z) / (sqrt2 / std::numbers::inv_sqrtpi_v<long double>);
    const long double move = cdf / density * std::log(cdf / p);
    z -= move;
    if (std::fabs(move) < 1e-19L * std::fabs(z)) break;
  }
  return z;
}

double relative_error(double p) {
  const long double exact = by_erfc(p);
  return static_cast<double>(std::fabs((inverse_normal(p) - exact) / exact));
}

}  // namespace

// AS 241 claims about 1e-16; evaluation in double adds a few roundings of 1.1e-16.
TEST_CASE("the inverse normal agrees with the inverse of erfc") {
  double central = 0.0, tail = 0.0, far = 0.0;
  for (int i = 1; i <= 20000; ++i) {
    central = std::max(central, relative_error(0.075 + 0.42499 * (i - 0.5) / 20000.0));
    tail = std::max(tail, relative_error(0.075 * std::exp2(-32.0 * i / 20000.0)));
    far = std::max(far, relative_error(kFarTail * std::exp2(-17.0 * i / 20000.0)));
  }
  CHECK(central < 1e-15);
  CHECK(tail < 1e-15);
  CHECK(far < 1e-15);
}

TEST_CASE("the inverse normal is odd about one half") {
  CHECK(inverse_normal(0.5) == 0.0);
  for (int i = 1; i < 1000; ++i) {
    const double p = i / 2048.0;
    CHECK(inverse_normal(p) == -inverse_normal(1.0 - p));
  }
  CHECK(std::fabs(inverse_normal(0x1p-53)) < 8.3);
}

TEST_CASE("the bulk version gives the same bits") {
  std::vector<double> values(5000);
  fill_uniform({3, 4}, 0, 5000, values.data());
  values[17] = 0x1p-53;
  values[18] = 1.0 - 0x1p-53;
  values[19] = 0.5 + kCentralHalfWidth;
  values[20] = kFarTail;
  const std::vector<double> uniform = values;
  inverse_normal(5000, values.data());
  std::size_t different = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    different += values[i] != inverse_normal(uniform[i]);
  }
  CHECK(different == 0);
}

}  // namespace scalecalc::tensor
