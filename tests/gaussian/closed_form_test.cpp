#include <doctest/doctest.h>

#include <cmath>

#include "quadrature_support.hpp"
#include "tolerance.hpp"

namespace scalecalc {
namespace {

using namespace testing;

std::string form(const char* activation, Moment moment, InputMean mean = InputMean::zero) {
  const ClosedForm found = closed_form(Activation::named(activation), moment, mean);
  return found.formula ? to_string(*found.formula) : "none: " + found.why_not;
}

TEST_CASE("formulas print as a reader would write them") {
  CHECK(form("relu", Moment::second) == "q/2");
  CHECK(form("relu", Moment::slope_second) == "1/2");
  CHECK(form("gelu", Moment::mean) == "q*(2*pi*(1 + q))^(-1/2)");
  CHECK(form("erf", Moment::cross) == "2*asin(2*c*q/(1 + 2*q))/pi");
  CHECK(form("sin", Moment::mean, InputMean::symbol) == "exp(-q/2)*sin(mu)");
  CHECK(form("square", Moment::cross) == "q^2*(1 + 2*c^2)");
}

TEST_CASE("where there is none, what stands in the way is said") {
  for (const char* name : {"tanh", "sigmoid", "silu", "mish", "softplus"}) {
    const ClosedForm found = closed_form(Activation::named(name), Moment::second);
    CHECK_FALSE(found.formula);
    CHECK(found.why_not.find("is not made of polynomials") != std::string::npos);
  }
  CHECK(form("gelu", Moment::fourth).find("4 half-lines") != std::string::npos);
  CHECK(form("gelu", Moment::second).find("none") == std::string::npos);
}

/// Price: dE[phi(u)phi(v)]/dc = q E[phi'(u)phi'(v)]; Stein: dE[phi]/dmu = E[phi'].
TEST_CASE("formulas differentiate into each other") {
  for (const char* name : {"relu", "gelu", "erf", "sin", "elu"}) {
    const Activation phi = Activation::named(name);
    const Expr cross = *closed_form(phi, Moment::cross).formula;
    const Expr slopes = *closed_form(phi, Moment::slope_cross).formula;
    const Expr mean = *closed_form(phi, Moment::mean, InputMean::symbol).formula;
    const Expr slope = *closed_form(phi, Moment::slope_mean, InputMean::symbol).formula;
    for (const double q : {0.25, 1.0, 6.0}) {
      for (const double c : {-0.7, 0.2, 0.9}) {
        INFO(name, " q=", q, " c=", c);
        const double by_price = evaluate(differentiate(cross, "c"), {{"q", q}, {"c", c}});
        // Terms of a derivative cancel: a few of its own size in roundings.
        CHECK(by_price ==
              doctest::Approx(q * evaluate(slopes, {{"q", q}, {"c", c}})).epsilon(1e-12));
      }
      const Bindings at{{"q", q}, {"mu", 0.75}};
      // As many roundings as above.
      CHECK(evaluate(differentiate(mean, "mu"), at) ==
            doctest::Approx(evaluate(slope, at)).epsilon(1e-12));
    }
  }
}

TEST_CASE("a mean that vanishes has digits") {
  const Activation selu = Activation::named("selu");
  CHECK(*closed_form_digits(selu, Moment::mean, 0, 1, std::nullopt, 8) == "0.0000000");
  CHECK(*closed_form_digits(selu, Moment::second, 0, 1, std::nullopt, 8) == "1.0000000");
  CHECK(quadrature_digits(selu, Moment::mean, 0, 1, std::nullopt, 8) == "0.0000000");
  // Small is not zero.
  const auto tiny =
      closed_form_digits(Activation::named("relu"), Moment::mean, -30, 1, std::nullopt, 5);
  CHECK(std::strtod(tiny->c_str(), nullptr) > 0);
}

TEST_CASE("kinked forms keep their digits at every scale") {
  // Far above the kink's own scale selu is linear on one side and flat on the other.
  const Activation selu = Activation::named("selu");
  for (const double q : {1e6, 1e9, 1e12, 1e15}) {
    const auto value = closed_form_value(selu, Moment::second, {0, q, std::nullopt});
    REQUIRE(value);
    const double lambda = 1.0507009873554805, alpha = 1.6732632423543772;
    const double std = std::sqrt(q);
    // E min(x, 0) exponentials: alpha^2 lambda^2 (1/2 - 2/(std sqrt(2 pi)) + O(1/q)).
    const double expected = lambda * lambda * (q / 2 + alpha * alpha / 2);
    const double next = lambda * lambda * alpha * alpha * 2 / (std * std::sqrt(2 * 3.14159));
    CHECK(std::fabs(value->value - expected) <= next + 8 * 0x1p-52 * expected);
  }
}

TEST_CASE("limits of the variance and the correlation") {
  const Activation gelu = Activation::named("gelu");
  CHECK(closed_form_value(gelu, Moment::second, {0.5, 0, std::nullopt})->value ==
        rounded(std::pow(gelu.value(0.5), 2), 8));
  const double second = closed_form_value(gelu, Moment::second, {0, 2, std::nullopt})->value;
  const double mean = closed_form_value(gelu, Moment::mean, {0, 2, std::nullopt})->value;
  CHECK(closed_form_value(gelu, Moment::cross, {0, 2, 1.0})->value == rounded(second, 8));
  CHECK(closed_form_value(gelu, Moment::cross, {0, 2, 0.0})->value == rounded(mean * mean, 8));
  CHECK_FALSE(closed_form_value(Activation::named("hardshrink"), Moment::slope_second,
                                {0, 1, std::nullopt}));
  CHECK_THROWS_AS(closed_form_value(gelu, Moment::second, {0, -1, std::nullopt}), Error);
  CHECK_THROWS_AS(closed_form_value(gelu, Moment::cross, {0, 1, std::nullopt}), Error);
  CHECK_THROWS_AS(closed_form_value(gelu, Moment::cross, {0, 1, 1.01}), Error);
}

TEST_CASE("polynomials of a high degree are refused, and so are long formulas") {
  for (const char* text : {"x^40", "(x + 1)^33", "max(x^20, x^3)"}) {
    const ClosedForm found =
        closed_form(Activation::from_expression(text), Moment::fourth, InputMean::symbol);
    INFO(text);
    CHECK_FALSE(found.formula);
    CHECK(found.why_not.size() > 10);
  }
}

}  // namespace
}  // namespace scalecalc
