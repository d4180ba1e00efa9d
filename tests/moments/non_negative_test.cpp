#include "scalecalc/non_negative.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace scalecalc {

TEST_CASE("a bound below 0, or no number, is refused wherever it is made") {
  CHECK_THROWS_AS(NonNegative(-1e-300), Error);
  CHECK_THROWS_AS(NonNegative(std::numeric_limits<double>::quiet_NaN()), Error);
  NonNegative bound = 1;
  CHECK_THROWS_AS(bound = bound - 2, Error);
  CHECK(double(bound) == 1);
  CHECK(double(NonNegative(std::numeric_limits<double>::infinity())) ==
        std::numeric_limits<double>::infinity());
}

TEST_CASE("a bound times a factor is that of the product, whatever the factor's sign") {
  NonNegative bound = 0.5;
  bound *= -2;
  CHECK(double(bound) == 1);
  bound += 0.25;
  CHECK(double(bound) == 1.25);
}

}  // namespace scalecalc
