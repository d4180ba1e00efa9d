#include <cmath>
#include <limits>

#include "support.hpp"

using namespace scalecalc;

TEST_CASE("the shortest decimal of a double") {
  CHECK(Rational::shortest(0.1) == Rational(1, 10));
  CHECK(Rational::shortest(-2.5) == Rational(-5, 2));
  CHECK(Rational::shortest(1e-3) == Rational(1, 1000));
  CHECK(Rational::shortest(0.0).is_zero());
}

TEST_CASE("the exact value of a double") {
  CHECK(Rational::exactly(0.1) == Rational(3602879701896397) / (Rational(std::int64_t{1} << 55)));
  CHECK(Rational::exactly(-0.75) == Rational(-3, 4));
  CHECK(Rational::exactly(0.0).is_zero());
}

TEST_CASE("both read back as the same double, at the edges of its range too") {
  using Limits = std::numeric_limits<double>;
  for (const double value : {1.0 / 3.0, 1e300, Limits::max(), Limits::min(), Limits::denorm_min(),
                             -5.0 * Limits::denorm_min(), 1.0 + Limits::epsilon()}) {
    CAPTURE(value);
    CHECK(Rational::shortest(value).to_double() == value);
    CHECK(Rational::exactly(value).to_double() == value);
  }
}

TEST_CASE("an infinity and a NaN are no numbers of a formula") {
  for (const double value : {double{INFINITY}, -double{INFINITY}, std::nan("")}) {
    CHECK_THROWS_AS(Rational::shortest(value), Error);
    CHECK_THROWS_AS(Rational::exactly(value), Error);
  }
}
