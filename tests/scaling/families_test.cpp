#include <doctest/doctest.h>

#include <set>

#include "scalecalc/scaling.hpp"

using namespace scalecalc;

namespace {

Expr rule(const char* text) {
  ParseOptions options;
  options.otherwise = Assumption::real;
  return parse(text, options);
}

void check_law(const char* text, Rational p, Rational s, Rational o) {
  CAPTURE(text);
  const StepLaw law = step_law(rule(text));
  CHECK(law.gradient_power == p);
  CHECK(law.parameter_power == s);
  CHECK(law.outer_power == o);
}

}  // namespace

TEST_CASE("powers follow from the update rule, also of rules no family has") {
  check_law("g", 2, 0, 1);
  check_law("3*g", 2, 0, 1);
  check_law("sign(g)", 1, 0, 1);
  check_law("orthogonal(g)", 1, 0, 1);
  check_law("rms(theta)*sign(g)", 1, 1, 1);
  check_law("norm(theta)*g/norm(g)", 1, 1, 1);
  check_law("g/norm(g)", 1, 0, 1);
  check_law("g/global_norm(g)", 2, 0, Rational(1, 2));
  check_law("rms(theta)^2*g", 2, 2, 1);
  // n |g| / (n g^2)^(1/2): the square root of the number of matrices, whatever the gradient.
  check_law("sign(g)/global_norm(g)", 0, 0, Rational(1, 2));
}

TEST_CASE("rules without a power law are refused") {
  CHECK_THROWS_AS(step_law(rule("g + sign(g)")), Error);
  CHECK_THROWS_AS(step_law(rule("g/global_norm(g)^2")), Error);
}

TEST_CASE("members of a family share their law and no name is used twice") {
  std::set<std::string> seen;
  for (const Family& group : families()) {
    const StepLaw law = step_law(group.update);
    for (const Optimizer& member : group.optimizers) {
      CAPTURE(member.name);
      CHECK(step_law(member.update) == law);
      CHECK(seen.insert(member.name).second);
      CHECK(family(member.name).name == group.name);
      CHECK(optimizer(member.name).update == member.update);
    }
  }
  for (const char* name :
       {"sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad", "lion", "signsgd",
        "lamb", "lars", "adafactor", "muon", "shampoo", "soap", "ngd"})
    CHECK(seen.count(name) == 1);
}

TEST_CASE("a misspelt optimizer gets the nearest name") {
  try {
    family("adm");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.exit_code() == 2);
    CHECK(error.hint().find("adam") != std::string::npos);
  }
}

TEST_CASE("step sizes in order of magnitude") {
  const Expr g = Expr::symbol("a"), theta = Expr::symbol("b"), n = Expr::symbol("n");
  CHECK(step_size(rule("g"), g, theta, n) == g);
  CHECK(step_size(rule("sign(g)"), g, theta, n) == Expr(1));
  CHECK(step_size(rule("rms(theta)*sign(g)"), g, theta, n) == theta);
  CHECK(step_size(rule("norm(theta)*g/norm(g)"), g, theta, n) == theta);
  CHECK(step_size(rule("g/global_norm(g)"), g, theta, n) == 1 / sqrt(n));
}
