#include "activation/scales.hpp"
#include "tolerance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace scalecalc {
namespace {

using namespace testing;
using Places = std::vector<double>;

Places scales(const std::string& text) {
  return Activation::from_expression(text).scales();
}

}  // namespace

TEST_CASE("scales: centre and width of what changes") {
  CHECK(scales("x").empty());
  CHECK(scales("x^3 + 2*x").empty());
  CHECK(scales("tanh(x)") == Places{-1, 0, 1});
  CHECK(scales("sigmoid(10*x - 30)") == Places{2.9, 3, 3.1});
  const Places bell = scales("exp(-(x - 2)^2/18)");
  REQUIRE(bell.size() == 3);
  CHECK(bell[1] == 2);
  CHECK(bell[2] == rounded(2 + std::sqrt(18.0), 8));
  CHECK(scales("1/(x^2 + 4)") == Places{-2, 0, 2});
  CHECK(Activation::named("relu").scales().empty());
}

TEST_CASE("scales: rising and few") {
  std::string many = "0";
  for (int k = 0; k < 60; ++k) many += " + tanh(x - " + std::to_string(10 * k) + ")";
  const Places places = scales(many);
  CHECK(places.size() <= 96);
  CHECK(std::is_sorted(places.begin(), places.end()));
}

}  // namespace scalecalc
