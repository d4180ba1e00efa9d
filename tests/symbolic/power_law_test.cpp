#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("power laws") {
  const auto law = power_law(formula("3*N*lambda^4/alpha^2"), {"alpha", "lambda"});
  REQUIRE(law);
  CHECK(law->coefficient == formula("3*N"));
  CHECK(law->exponents == std::map<std::string, Rational>{{"alpha", -2}, {"lambda", 4}});
  const auto root = power_law(formula("(2*N*lambda)^(1/4)"), {"lambda"});
  REQUIRE(root);
  CHECK(root->coefficient == formula("(2*N)^(1/4)"));
  CHECK(root->exponents.at("lambda") == Rational(1, 4));
  const auto sum = power_law(formula("N*lambda + 2*M*lambda"), {"lambda"});
  REQUIRE(sum);
  CHECK(sum->coefficient == formula("N + 2*M"));
  const auto nested = power_law(formula("(N*lambda^2 + M*lambda^2)^(1/2)"), {"lambda"});
  REQUIRE(nested);
  CHECK(nested->coefficient == formula("(N + M)^(1/2)"));
  CHECK(nested->exponents.at("lambda") == Rational(1));
  const auto none = power_law(formula("exp(N)"), {"lambda"});
  REQUIRE(none);
  CHECK(none->exponents.empty());
  CHECK(none->coefficient == formula("exp(N)"));
}

TEST_CASE("what is no power law") {
  for (const char* text :
       {"lambda + 1", "exp(lambda)", "lambda^N", "2^lambda", "lambda + lambda^2", "log(lambda)"}) {
    INFO(text);
    CHECK_FALSE(power_law(formula(text), {"lambda"}));
  }
  CHECK_FALSE(power_law(formula("(x*y)^(1/2)"), {"x", "y"}));  // (-1)(-1) has a root, -1 has none
}

TEST_CASE("degrees of update rules") {
  const auto degree = [](const char* text, const char* symbol) {
    ParseOptions options;
    options.otherwise = Assumption::real;
    return homogeneity(parse(text, options), symbol);
  };
  CHECK(degree("g", "g") == Rational(1));
  CHECK(degree("g^2", "g") == Rational(2));
  CHECK(degree("sign(g)", "g") == Rational(0));
  CHECK(degree("g/norm(g)", "g") == Rational(0));
  CHECK(degree("norm(theta)*g/norm(g)", "theta") == Rational(1));
  CHECK(degree("norm(theta)*g/norm(g)", "g") == Rational(0));
  CHECK(degree("g/global_norm(g)", "g") == Rational(0));
  CHECK(degree("orthogonal(g)", "g") == Rational(0));
  CHECK(degree("rms(theta)*sign(g)", "theta") == Rational(1));
  CHECK(degree("g/(g^2)^(1/2)", "g") == Rational(0));
  CHECK(degree("max(g, 0) + abs(g)", "g") == Rational(1));
  CHECK(degree("step(g)*g^3", "g") == Rational(3));
  CHECK(degree("exp(g/norm(g))", "g") == Rational(0));
  CHECK(degree("g", "theta") == Rational(0));
  CHECK(degree("norm(g)^(1/2)", "g") == Rational(1, 2));
}

TEST_CASE("what is not homogeneous") {
  for (const char* text :
       {"x + x^2", "x + 1", "exp(x)", "max(x, 1)", "tanh(x)", "2^x", "x^y", "log(x)", "gelu(x)"}) {
    INFO(text);
    if (std::string(text) == "x^y") {
      CHECK_FALSE(homogeneity(formula(text), "y"));
    } else {
      CHECK_FALSE(homogeneity(formula(text), "x"));
    }
  }
}
