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

TEST_CASE("names are in any case, and two joined by + are a mixture") {
  CHECK(optimizer("AdamW").name == "adamw");
  CHECK_FALSE(optimizer("ADAM").rest);
  const Optimizer mixture = optimizer("Muon+AdamW");
  CHECK(mixture.name == "muon+adamw");
  CHECK(mixture.update == optimizer("muon").update);
  REQUIRE(mixture.rest);
  CHECK(mixture.rest->update == optimizer("adamw").update);
  CHECK(family_name(mixture) == "muon");
  CHECK(optimizer_title(mixture).find("sign of the gradient (all else)") != std::string::npos);
  // A rule may be a sum of one symbol's parts.
  CHECK_FALSE(optimizer("g+g").rest);
  const auto says = [](const char* text) {
    try {
      optimizer(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(says("muon+adamv").find("did you mean 'adam") != std::string::npos);
  CHECK(says("adan+muon").find("unknown optimizer 'adan'") != std::string::npos);
  CHECK(says("muon+").find("unknown optimizer ''") != std::string::npos);
  CHECK(says("muon+adam+sgd").find("a mixture is of two optimizers") != std::string::npos);
}

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

TEST_CASE("a rule as it is written is an optimizer too") {
  const Optimizer written = optimizer("sign(g)*norm(theta)");
  CHECK(written.name == "sign(g)*norm(theta)");
  CHECK(step_law(written.update) == step_law(optimizer("lamb").update));
  CHECK(family_name(written) == "lamb");
  CHECK(family_name(optimizer("adamw")) == "adam");
  CHECK(family_name(optimizer("rms(theta)^2*g")) == "rule");
  CHECK(optimizer_title(written).find("lamb") != std::string::npos);
  CHECK(optimizer("g").update == optimizer("sgd").update);

  ScalingProblem problem;
  problem.layers = 50;
  problem.optimizer = written.name;
  const ScalingSolution own = solve_scaling(problem);
  problem.optimizer = "lamb";
  const ScalingSolution named = solve_scaling(problem);
  CHECK(own.alpha.value == named.alpha.value);
  CHECK(own.lambda.value == named.lambda.value);
  CHECK(own.warmup.factor->value == named.warmup.factor->value);
}

TEST_CASE("a rule that cannot be one is refused in one line") {
  const auto refused = [](const char* text) {
    try {
      optimizer(text);
    } catch (const Error& error) {
      CHECK(error.exit_code() == 2);
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
      return error.message();
    }
    return std::string();
  };
  CHECK(refused("sign(g)+theta").find("not homogeneous") != std::string::npos);
  CHECK(refused("sign(theta)").find("does not depend on the gradient") != std::string::npos);
  CHECK(refused("foo(g)").find("unknown function 'foo'") != std::string::npos);
  CHECK(refused("g*lr").find("lr") != std::string::npos);
  CHECK(refused("adm").find("unknown optimizer 'adm'") != std::string::npos);
  CHECK(refused("g/global_norm(g)^2").find("number of matrices") != std::string::npos);
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
