#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>

#include "base/deadline.hpp"
#include "gaussian/quadrature/exact.hpp"
#include "scalecalc/gaussian.hpp"

namespace scalecalc {
namespace {

using base::Deadline;
using base::DeadlinePassed;
using Time = Deadline::Clock::time_point;

/// Everything that averages an activation, as a text of what it finds.
std::map<std::string, std::function<std::string(const Activation&)>> methods() {
  const GaussianInput pair{0.25, 2, 0.5};
  const auto text = [](double value) { return std::to_string(value); };
  MonteCarloOptions draws;
  draws.samples = 4096;
  draws.threads = 2;
  return {
      {"closed form",
       [=](const Activation& phi) {
         const auto value = closed_form_value(phi, Moment::second, pair);
         return value ? text(value->value) : "none";
       }},
      {"digits of a closed form",
       [](const Activation& phi) {
         return closed_form_digits(phi, Moment::second, 0, 2, {}, 30).value_or("none");
       }},
      {"quadrature",
       [=](const Activation& phi) { return text(quadrature(phi, Moment::second, pair).value); }},
      {"quadrature of all moments",
       [=](const Activation& phi) { return text(quadrature_1d(phi, pair).fourth.value); }},
      {"quadrature of a pair",
       [=](const Activation& phi) { return text(quadrature(phi, Moment::cross, pair).value); }},
      {"digits by quadrature",
       [](const Activation& phi) { return quadrature_digits(phi, Moment::second, 0, 2, {}, 20); }},
      {"digits of a pair by quadrature",
       [](const Activation& phi) {
         return quadrature_digits(phi, Moment::cross, 0, 1, Expr(Rational(1, 2)), 20);
       }},
      {"a function of the correlation",
       [=](const Activation& phi) {
         return text(PairFunction(phi, Moment::cross, 0, 1)(0.5).value);
       }},
      {"Monte Carlo",
       [=](const Activation& phi) {
         return text(monte_carlo(phi, pair, draws).at(Moment::second).value);
       }},
  };
}

TEST_CASE("every method ends at a deadline, and is none the worse for it") {
  int number = 0;
  for (const auto& [name, find] : methods()) {
    CAPTURE(name);
    // An expression that nothing is known of yet, with a formula and with a kink.
    const std::string slope = std::to_string(++number) + "/7";
    const Activation phi = Activation::from_expression("max(" + slope + "*x, exp(-x^2))");
    {
      const Deadline passed(Time::min(), "too late");
      CHECK_THROWS_AS(find(phi), DeadlinePassed);
    }
    const std::string found = find(phi);
    CHECK(found == find(Activation::from_expression("max(" + slope + "*x, exp(-x^2))")));
    const Deadline far(Deadline::Clock::now() + std::chrono::hours(1), "never");
    CHECK(found == find(phi));
  }
}

TEST_CASE("an expression is not read past a deadline") {
  const Deadline passed(Time::min(), "too late");
  CHECK_THROWS_AS(Activation::from_expression("x*Phi(3*x)"), DeadlinePassed);
}

TEST_CASE("values of a polynomial, which calls no function, end at a deadline") {
  using gaussian::quadrature::ExactFunction;
  const Activation phi = Activation::from_expression("1 + x + x^2/7 + x^3");
  const ExactFunction exact(phi, ExactFunction::Which::value, 240);
  symbolic::Real half(64);
  mpfr_set_d(half.get(), 0.5, MPFR_RNDN);
  {
    const Deadline passed(Time::min(), "too late");
    CHECK_THROWS_AS(phi.value(0.5), DeadlinePassed);  // code is measured before its first value
    CHECK_THROWS_AS(exact(half), DeadlinePassed);
  }
  CHECK(phi.value(0.5) == Activation::from_expression("1 + x + x^2/7 + x^3").value(0.5));
  CHECK(exact(half).is_finite());
}

TEST_CASE("a formula that was not sought for want of time is found later") {
  const Activation phi = Activation::from_expression("x*Phi(3*x/11)");
  {
    const Deadline passed(Time::min(), "too late");
    CHECK_THROWS_AS(closed_form(phi, Moment::second), DeadlinePassed);
  }
  CHECK(closed_form(phi, Moment::second).formula);
}

}  // namespace
}  // namespace scalecalc
