#include "activation/pieces.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace scalecalc::activation_room {
namespace {

Expr formula(const std::string& text) {
  ParseOptions options;
  options.assumptions = {{"x", Assumption::real}};
  return parse(text, options);
}

std::string shown(const Pieces& pieces) {
  std::string text = to_string(pieces.expressions[0]);
  for (std::size_t k = 0; k < pieces.breaks.size(); ++k) {
    text +=
        " | " + to_string(pieces.breaks[k].where) + " | " + to_string(pieces.expressions[k + 1]);
  }
  return text;
}

std::string split(const std::string& text) {
  return shown(split_into_pieces(formula(text)));
}

std::string of_named(const char* name) {
  return shown(split_into_pieces(Activation::named(name).expression()));
}

}  // namespace

TEST_CASE("pieces: of the registry") {
  CHECK(of_named("identity") == "x");
  CHECK(of_named("relu") == "0 | 0 | x");
  CHECK(of_named("leaky_relu") == "x/100 | 0 | x");
  CHECK(of_named("prelu") == "x/4 | 0 | x");
  CHECK(of_named("relu6") == "0 | 0 | x | 6 | 6");
  CHECK(of_named("relu_squared") == "0 | 0 | x^2");
  CHECK(of_named("elu") == "exp(x) - 1 | 0 | x");
  CHECK(of_named("celu") == "exp(x) - 1 | 0 | x");
  CHECK(of_named("softsign") == "x/(1 - x) | 0 | x/(1 + x)");
  CHECK(of_named("hard_sigmoid") == "0 | -3 | 1/2 + x/6 | 3 | 1");
  CHECK(of_named("hard_tanh") == "-1 | -1 | x | 1 | 1");
  CHECK(of_named("hard_swish") == "0 | -3 | x*(3 + x)/6 | 3 | x");
  CHECK(of_named("softshrink") == "1/2 + x | -1/2 | 0 | 1/2 | x - 1/2");
  CHECK(of_named("hardshrink") == "x | -1/2 | 0 | 1/2 | x");
  CHECK(of_named("abs") == "-x | 0 | x");
  for (const std::string name :
       {"gelu", "gelu_tanh", "quick_gelu", "silu", "mish", "sigmoid", "softplus", "log_sigmoid",
        "tanh", "erf", "tanhshrink", "sin", "cos", "gaussian", "square", "exp"}) {
    CAPTURE(name);
    CHECK(split_into_pieces(Activation::named(name).expression()).breaks.empty());
  }
  CHECK(split_into_pieces(Activation::named("selu").expression()).breaks.size() == 1);
}

TEST_CASE("pieces: jumps of the registry") {
  for (const ActivationInfo& info : activations()) {
    CAPTURE(info.name);
    CHECK(Activation::named(info.name).has_jump() == (info.name == "hardshrink"));
  }
  for (const Break& place : Activation::named("hardshrink").breaks()) {
    CHECK(place.jump);
    CHECK(place.jump_size == 0.5);
  }
}

TEST_CASE("pieces: nested, equal on both sides, exact places") {
  CHECK(split("abs(abs(x) - 1)") == "-1 - x | -1 | 1 + x | 0 | 1 - x | 1 | x - 1");
  CHECK(split("abs(x)^2") == "x^2");
  CHECK(split("sign(x)^2*x") == "x");
  CHECK(split("max(x, 2*x)") == "x | 0 | 2*x");
  CHECK(split("max(x, 1, 2 - x)") == "2 - x | 1 | x");
  CHECK(split("x*step(x)") == "0 | 0 | x");
  CHECK(split("step(x - 1/3)*step(1/2 - x)") == "0 | 1/3 | 1 | 1/2 | 0");
  CHECK(split("abs(x^2 - 2)") == "x^2 - 2 | -2^(1/2) | 2 - x^2 | 2^(1/2) | x^2 - 2");
  CHECK(split("max(x^3 - x, 0)") == "0 | -1 | x^3 - x | 0 | 0 | 1 | x^3 - x");
  CHECK(split("min(exp(x) - 1, x)") == "x");
  CHECK(split("relu(1 - 0.1*x)") == "1 - x/10 | 10 | 0");
  CHECK(split("sign(x)") == "-1 | 0 | 1");
  CHECK(split("abs(exp(2*x) - 3)") == "3 - exp(2*x) | log(3)/2 | exp(2*x) - 3");
  CHECK(split("abs((x - 1)^2*(x + 2))") == "-(1 - x)^2*(2 + x) | -2 | (1 - x)^2*(2 + x)");
}

TEST_CASE("pieces: transcendental places to 60 digits") {
  const Pieces pieces = split_into_pieces(formula("max(x^3 - x, tanh(x))"));
  REQUIRE(pieces.breaks.size() == 3);
  CHECK(pieces.breaks[1].where == Expr(0));
  for (const std::size_t k : {0, 2}) {
    const Expr gap = formula("x^3 - x - tanh(x)");
    const Expr there = substitute(gap, {{"x", pieces.breaks[k].where}});
    // Kinks are kept to 60 digits.
    CHECK(std::fabs(value_at(there, 0.0)) < 1e-57);
  }
}

TEST_CASE("pieces: the joined pieces are the expression at random points") {
  for (const std::string text : {"min(max(abs(x^2 - 2) - 1, 0), exp(x) - 2)", "abs(x - 0.1*exp(x))",
                                 "max(sigmoid(x), x/3, 1/4)*sign(x + 1)", "relu(x - abs(x - 1))",
                                 "abs(min(x, 3) + max(-x, 2*x - 5))"}) {
    CAPTURE(text);
    const Expr expr = formula(text);
    const Pieces pieces = split_into_pieces(expr);
    std::size_t k = 0;
    for (int i = -400; i <= 400; ++i) {
      const double x = i / 40.0 + 0.00137;
      while (k < pieces.breaks.size() && x > pieces.breaks[k].at) ++k;
      CAPTURE(x);
      CHECK(value_at(pieces.expressions[k], x) == value_at(expr, x));
    }
  }
}

TEST_CASE("pieces: too many are refused") {
  CHECK_THROWS_AS(split("abs(cos(x))"), Error);
  std::string many = "0";
  for (int k = 0; k < 70; ++k) many += " + abs(x - " + std::to_string(k) + ")";
  CHECK_THROWS_AS(split(many), Error);
}

}  // namespace scalecalc::activation_room
