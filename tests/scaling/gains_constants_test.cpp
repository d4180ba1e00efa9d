#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scalecalc/gains.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("the truncated normal to fifty digits") {
  const TruncatedNormal two = truncated_normal("-2", "2", 50);
  CHECK(two.variance.value == printed(0.7737413, 5e-8));
  CHECK(two.correction.value == printed(1.1368472, 5e-8));
  CHECK(two.mean.value == 0);
  REQUIRE(two.digits.size() == 4);
  CHECK(two.digits[0] == "0");
  CHECK(two.digits[2] == "0.87962566103423975041284141957777479834591658957864");
  CHECK(two.digits[1].size() == 52);
  CHECK(truncated_normal(-3, 3).variance.value == within(std::pow(0.9865783926, 2), 2 * 5e-11));
}

TEST_CASE("half lines, the whole line, tails and slivers") {
  const TruncatedNormal half = truncated_normal("0", "inf", 30);
  CHECK(half.mean.value == rounded(std::sqrt(2 / M_PI), 8));
  CHECK(half.variance.value == rounded(1 - 2 / M_PI, 8));
  const TruncatedNormal whole = truncated_normal("-inf", "inf", 10);
  CHECK(whole.variance.value == 1);
  CHECK(whole.correction.value == 1);
  // Far out the density falls as e^(-a x): an exponential of mean 1/a, to order 1/a^2.
  const TruncatedNormal tail = truncated_normal("30", "inf");
  CHECK(tail.variance.value == doctest::Approx(1 / 900.0).epsilon(6 / 900.0));
  CHECK(tail.mean.value == doctest::Approx(30 + 1 / 30.0).epsilon(2 / 27000.0));
  const TruncatedNormal mirrored = truncated_normal("-inf", "-30");
  CHECK(mirrored.mean.value == -tail.mean.value);
  CHECK(mirrored.variance.value == tail.variance.value);
  // A sliver is uniform.
  CHECK(truncated_normal("1", "1.000001").variance.value ==
        doctest::Approx(1e-12 / 12).epsilon(1e-6));
}

TEST_CASE("bounds that make no sense") {
  CHECK_THROWS_AS(truncated_normal("2", "-2"), Error);
  CHECK_THROWS_AS(truncated_normal("1", "1"), Error);
  CHECK_THROWS_AS(truncated_normal("x", "1"), Error);
  CHECK_THROWS_AS(truncated_normal("inf", "-inf"), Error);
  CHECK_THROWS_AS(truncated_normal("-1e9", "1"), Error);
  CHECK_THROWS_AS(truncated_normal(NAN, 1), Error);
}

TEST_CASE("framework gains stand beside the derived ones, with where they lead") {
  const auto find = [](const char* name, const char* framework) {
    const auto list = framework_gains(name);
    const auto found = std::find_if(list.begin(), list.end(), [&](const FrameworkGain& gain) {
      return gain.framework == framework;
    });
    REQUIRE(found != list.end());
    return *found;
  };
  const FrameworkGain tanh = find("tanh", "pytorch");
  CHECK(tanh.value == rounded(5.0 / 3, 8));
  CHECK(tanh.derived == printed(1.59253742, 5e-9));
  CHECK(tanh.settles_second == printed(0.4243, 5e-5));
  CHECK(tanh.chi == printed(1.210, 5e-4));
  const FrameworkGain selu = find("selu", "pytorch");
  CHECK(selu.formula == "3/4");
  CHECK(std::sqrt(selu.settles_second) == printed(0.2024, 5e-5));
  const FrameworkGain relu = find("relu", "pytorch");
  CHECK(relu.value == rounded(relu.derived, 8));
  CHECK(find("gelu", "flax").settles_second == 0);
  CHECK(find("relu", "mlx").value == 1);
  CHECK(framework_gains("no_such").empty());
  for (const std::string& name : activation_names()) {
    for (const FrameworkGain& gain : framework_gains(name)) CHECK_FALSE(gain.why.empty());
  }
}
