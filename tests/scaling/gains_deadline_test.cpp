#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>

#include "base/deadline.hpp"
#include "scalecalc/gains.hpp"

namespace scalecalc {
namespace {

using base::Deadline;

const std::set<std::string> all_gains = {"gain_second",     "gain_variance", "gain_backward",
                                         "gain_compromise", "q_slope",       "gain_activation"};

TEST_CASE("gains that a deadline leaves out have its reason") {
  const Activation phi = Activation::from_expression("x*tanh(5*x/3)");
  Gains cut;
  {
    const Deadline passed(Deadline::Clock::time_point::min(), "too late");
    cut = gains(phi, {0, 1, {}});
  }
  CHECK(cut.out_of_time);
  for (const std::string& name : all_gains) {
    CAPTURE(name);
    REQUIRE(cut.unavailable.contains(name));
    CHECK(cut.unavailable.at(name) == "too late");
  }
  const Gains whole = gains(phi, {0, 1, {}});
  CHECK_FALSE(whole.out_of_time);
  CHECK(whole.unavailable.empty());
}

TEST_CASE("digits that a deadline leaves out have its reason") {
  const Activation phi = Activation::named("tanh");
  const Gains known = gains(phi, {0, 1, {}});
  const Deadline passed(Deadline::Clock::time_point::min(), "too late");
  const GainDigits digits = gain_digits(phi, known, 0, 1, 20);
  CHECK(digits.found.empty());
  for (const auto& [name, reason] : digits.out_of_reach) CHECK(reason == "too late");
  CHECK(digits.out_of_reach.size() == all_gains.size() - known.unavailable.size());
}

TEST_CASE("digits beyond quadrature's are said gain by gain, in the digits asked for") {
  const Activation phi = Activation::named("tanh");
  const Gains known = gains(phi, {0, 1, {}});
  const GainDigits digits = gain_digits(phi, known, 0, 1, most_digits_of_quadrature);
  CHECK(digits.found.empty());
  for (const char* name : {"gain_second", "gain_backward", "q_slope"}) {
    CAPTURE(name);
    REQUIRE(digits.out_of_reach.contains(name));
    CHECK(digits.out_of_reach.at(name).find("integral without a formula") != std::string::npos);
  }
}

/// phi = x^n: E phi(s u)^2 = s^(2 n) (2 n - 1)!!.
TEST_CASE("the scale of a power is right to every digit that it is given to") {
  for (const int n : {1, 3, 12}) {
    CAPTURE(n);
    const Activation phi = Activation::from_expression("x^" + std::to_string(n));
    Rational product = 1;
    for (int k = 1; k < 2 * n; k += 2) product = product * Rational(k);
    for (const int digits : {20, 40}) {
      const GainDigits found = gain_digits(phi, gains(phi, {0, 1, {}}), 0, 1, digits);
      CHECK(found.out_of_reach.empty());
      CHECK(found.found.at("gain_activation") ==
            evaluate_digits(pow(Expr(product), Rational(-1, 2 * n)), digits));
    }
  }
}

/// A flat E phi^2: the root loses digits by its slope, which are made up for.
TEST_CASE("the scale of a nearly bounded activation keeps its digits") {
  const Activation phi = Activation::from_expression("4/3*tanh(50*x)");
  const Gains known = gains(phi, {0, 1, {}});
  REQUIRE(known.activation);
  const GainDigits few = gain_digits(phi, known, 0, 1, 18),
                   more = gain_digits(phi, known, 0, 1, 24);
  const Rational a = Rational::parse(few.found.at("gain_activation"));
  const Rational b = Rational::parse(more.found.at("gain_activation"));
  const Rational off = (a - b) / b;
  // Half a unit of the 18th digit is at most 5e-18 of the value.
  CHECK(std::fabs(off.to_double()) <= 5e-18 * (1 + 1e-5));
}

}  // namespace
}  // namespace scalecalc
