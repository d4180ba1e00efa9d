#include <doctest/doctest.h>

#include "scalecalc/scaling.hpp"

using namespace scalecalc;

namespace {

std::string formulas(const ScalingSolution& found) {
  std::string all;
  for (const DerivationStep& step : found.derivation) all += step.formula + "\n";
  return all;
}

ScalingSolution solution(const char* optimizer, Placement placement) {
  ScalingProblem problem;
  problem.layers = 100;
  problem.optimizer = optimizer;
  problem.placement = placement;
  return solve_scaling(problem);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a derivation goes from the rule to the pair") {
  const std::string text = formulas(solution("adam", Placement::post));
  CAPTURE(text);
  CHECK(has(text, "sign(g)"));
  CHECK(has(text, "lambda/alpha"));
  CHECK(has(text, "2*N*lambda/alpha = 1"));
  CHECK(has(text, "alpha = (2*N)^(1/2)"));
  CHECK(has(text, "lambda = (2*N)^(-1/2)"));
  CHECK(has(text, "eta/N"));
  CHECK(has(text, "(4*N)^(-1/2)"));
}

TEST_CASE("every step says why, in both notations; the solution put back is proved") {
  for (const char* optimizer : {"sgd", "adam", "lamb", "muon", "ngd"}) {
    for (const Placement placement : {Placement::post, Placement::pre, Placement::res_post,
                                      Placement::sandwich, Placement::sub_ln, Placement::none}) {
      const ScalingSolution found = solution(optimizer, placement);
      bool proved = !found.closed_form;
      for (const DerivationStep& step : found.derivation) {
        CHECK(!step.statement.empty());
        CHECK(!step.formula.empty());
        CHECK(!step.formula_latex.empty());
        CHECK(!step.reason.empty());
        if (step.statement == "Put back")
          proved = has(step.reason, "canonical") || has(step.reason, "equal");
      }
      CHECK(proved);
    }
  }
}
