#include <doctest/doctest.h>

#include "scalecalc/scaling.hpp"

using namespace scalecalc;

TEST_CASE("constraints are read and printed") {
  CHECK(Constraint::parse("symmetric").to_string() == "symmetric");
  CHECK(Constraint::parse(" alpha = 2 ").to_string() == "alpha=2");
  CHECK(Constraint::parse("lambda=(2*N)^(-1/2)").to_string() == "lambda=(2*N)^(-1/2)");
  CHECK(Constraint::parse("alpha=M^2", "M").to_string() == "alpha=M^2");
}

TEST_CASE("wrong constraints say what would be right") {
  for (const char* text : {"", "lambda", "lambda=", "lambda=0", "lambda=-1", "alpha=x", "beta=1",
                           "alpha=1/0", "alpha=log(1)", "alpha=((", "symetric", "=", "alpha==1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Constraint::parse(text), Error);
  }
}

TEST_CASE("defaults: symmetric, alpha=1 for relative steps, what the placement fixes") {
  const StepLaw sgd = step_law(family("sgd").update), lamb = step_law(family("lamb").update);
  CHECK(default_constraint(sgd, Placement::post).to_string() == "symmetric");
  CHECK(default_constraint(lamb, Placement::post).to_string() == "alpha=1");
  for (const Placement placement : {Placement::pre, Placement::sub_ln, Placement::none})
    CHECK(default_constraint(sgd, placement).to_string() == "alpha=1");
  for (const Placement placement : {Placement::res_post, Placement::sandwich, Placement::ngpt})
    CHECK(default_constraint(lamb, placement).to_string() == "lambda=1");
}
