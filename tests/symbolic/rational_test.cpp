#include <cmath>
#include <limits>

#include "support.hpp"
#include "symbolic/big.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {
constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
}  // namespace

TEST_CASE("rationals are kept in lowest terms with a positive denominator") {
  CHECK(Rational(6, -4).to_string() == "-3/2");
  CHECK(Rational(0, -7) == Rational(0));
  CHECK(Rational(-8, -4).to_int64() == 2);
  CHECK(Rational(1, 3) + Rational(1, 6) == Rational(1, 2));
  CHECK(Rational(1, 3) - Rational(1, 3) == Rational(0));
  CHECK(Rational(2, 3) * Rational(3, 4) == Rational(1, 2));
  CHECK(Rational(2, 3) / Rational(-4, 3) == Rational(-1, 2));
  CHECK(Rational(-1, 2) < Rational(-1, 3));
  CHECK_FALSE(Rational(1, 3) < Rational(1, 3));
  CHECK(Rational(7, 2).numerator() == Rational(7));
  CHECK(Rational(7, 2).denominator() == Rational(2));
}

TEST_CASE("division by zero is an error") {
  CHECK_THROWS_AS(Rational(1, 0), Error);
  CHECK_THROWS_AS(Rational(1) / Rational(0), Error);
  CHECK_THROWS_AS(Rational::parse("1/0"), Error);
}

TEST_CASE("values past a machine word move to large integers and back") {
  const Rational big = Rational(largest) * Rational(largest);
  CHECK(big.to_string() == "85070591730234615847396907784232501249");
  CHECK(big.big());
  CHECK_FALSE((big / Rational(largest)).big());
  CHECK(big / Rational(largest) == Rational(largest));
  CHECK(big - big == Rational(0));
  CHECK(Rational(smallest).to_string() == "-9223372036854775808");
  CHECK((-Rational(smallest)).to_string() == "9223372036854775808");
  CHECK(Rational(smallest) - Rational(1) < Rational(smallest));
  CHECK(Rational(smallest, smallest) == Rational(1));
  CHECK((-Rational(smallest) - Rational(1)) == Rational(largest));
  CHECK(Rational(1, largest) * Rational(1, largest) < Rational(1, largest));
  CHECK(big.sign() == 1);
  CHECK((-big).sign() == -1);
  CHECK_FALSE(big.to_int64().has_value());
}

TEST_CASE("arithmetic agrees with large integers on the edge of the machine word") {
  const std::int64_t edge[] = {0, 1, -1, 2, 3, largest, -largest, largest - 1, smallest, 1 << 30};
  for (std::int64_t a : edge) {
    for (std::int64_t b : edge) {
      const BigInteger x = a, y = b;
      CHECK(symbolic::make_rational(x + y) == Rational(a) + Rational(b));
      CHECK(symbolic::make_rational(x * y) == Rational(a) * Rational(b));
      if (b != 0) CHECK(symbolic::make_rational(x, y) == Rational(a, b));
      CHECK((x < y) == (Rational(a) < Rational(b)));
    }
  }
}

TEST_CASE("conversion to double rounds correctly") {
  CHECK(Rational(1, 3).to_double() == 1.0 / 3.0);
  CHECK(Rational(largest).to_double() == 9223372036854775808.0);
  CHECK(Rational(smallest).to_double() == -9223372036854775808.0);
  const std::int64_t half = std::int64_t{1} << 53;
  CHECK(Rational(half + 1).to_double() == 9007199254740992.0);  // a tie goes to even
  CHECK(Rational(half + 3).to_double() == 9007199254740996.0);
  CHECK(Rational(2 * half + 3).to_double() == 18014398509481988.0);
  const double numbers[] = {0.1, 1e-300, 5e-324, 2.2250738585072014e-308, 1.5e308, 1e23, -0.7};
  for (double number : numbers) {
    int exponent = 0;
    const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(number, &exponent), 53));
    const Rational exact = Rational(mantissa) * symbolic::integer_power(2, exponent - 53);
    CHECK(exact.to_double() == number);
  }
  CHECK(symbolic::integer_power(2, -1075).to_double() == 0.0);  // half of the smallest, to even
  CHECK((symbolic::integer_power(2, -1075) * Rational(3)).to_double() == 1e-323);
  CHECK(symbolic::integer_power(2, 1024).to_double() == std::numeric_limits<double>::infinity());
  CHECK(symbolic::integer_power(-2, 1025).to_double() == -std::numeric_limits<double>::infinity());
  CHECK(symbolic::integer_power(10, -400).to_double() == 0.0);
}

TEST_CASE("powers, floors and common divisors are exact") {
  CHECK(symbolic::integer_power(Rational(-2, 3), 3) == Rational(-8, 27));
  CHECK(symbolic::integer_power(Rational(-2, 3), -2) == Rational(9, 4));
  CHECK(symbolic::integer_power(-1, 1000000001) == Rational(-1));
  CHECK(symbolic::integer_power(0, 5) == Rational(0));
  CHECK_THROWS_AS(symbolic::integer_power(0, -1), Error);
  CHECK(mentions(message_of([] { symbolic::integer_power(2, 1000000000); }), "16384 bits"));
  CHECK(symbolic::floor(Rational(-7, 2)) == Rational(-4));
  CHECK(symbolic::floor(Rational(7, 2)) == Rational(3));
  CHECK(symbolic::common_divisor(Rational(1, 2), Rational(3, 4)) == Rational(1, 4));
  CHECK(symbolic::common_divisor(0, -6) == Rational(6));
  CHECK(symbolic::common_divisor(Rational(0), Rational(-2, 3)) == Rational(2, 3));
}

TEST_CASE("numbers have a limit, named in the message") {
  Rational value = 2;
  const std::string message = message_of([&] {
    while (true) value = value * value;
  });
  CHECK(mentions(message, "16384 bits"));
  CHECK(mentions(message, "4900 digits"));
}
