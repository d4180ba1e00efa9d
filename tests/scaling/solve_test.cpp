#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scalecalc/scaling.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

const Placement placements[] = {Placement::post,     Placement::pre,    Placement::res_post,
                                Placement::sandwich, Placement::sub_ln, Placement::branchnorm,
                                Placement::ngpt,     Placement::none};

ScalingSolution solution(const std::string& optimizer, Placement placement = Placement::post,
                         std::int64_t layers = 1000, const char* constraint = nullptr) {
  ScalingProblem problem;
  problem.layers = layers;
  problem.optimizer = optimizer;
  problem.placement = placement;
  if (constraint) problem.constraint = Constraint::parse(constraint);
  return solve_scaling(problem);
}

}  // namespace

TEST_CASE("a mixture's pair is that of its hidden matrices; all else has its own step") {
  for (const Placement placement : {Placement::post, Placement::pre, Placement::sub_ln}) {
    CAPTURE(to_string(placement));
    ScalingProblem problem;
    problem.layers = 100;
    problem.placement = placement;
    problem.optimizer = "muon";
    const ScalingSolution alone = solve_scaling(problem);
    CHECK(alone.rest.empty());
    problem.optimizer = "muon+adamw";
    const ScalingSolution mixed = solve_scaling(problem);
    CHECK(mixed.family == "muon");
    CHECK(mixed.alpha.value == alone.alpha.value);
    CHECK(mixed.lambda.value == alone.lambda.value);
    REQUIRE(mixed.rest.size() == 2);
    // Steps of signs are 1 whatever the gradient, and so are the parameters.
    for (const RestStep& rest : mixed.rest) CHECK(rest.relative_step.value == 1);
    // Those of the gradient are the gradient.
    problem.optimizer = "muon+sgd";
    for (const RestStep& rest : solve_scaling(problem).rest)
      CHECK(rest.relative_step.formula == rest.gradient.formula);
  }
}

TEST_CASE("two optimizers inside branches: the pair bounds both, and the other's change falls") {
  for (const Placement placement :
       {Placement::post, Placement::pre, Placement::res_post, Placement::sub_ln})
    for (const char* text : {"adam(ffn)+sgd", "sgd(ffn)+adam", "lamb(attention)+ngd", "muon(v)+sgd",
                             "sgd(q,k)+lion", "adam(ffn)+muon"}) {
      CAPTURE(to_string(placement));
      CAPTURE(text);
      ScalingProblem problem;
      problem.layers = 100;
      problem.placement = placement;
      const std::string first = std::string(text).substr(0, std::string(text).find('('));
      const std::string second = std::string(text).substr(std::string(text).find('+') + 1);
      std::vector<double> pairs;
      for (const std::string& alone : {first, second}) {
        problem.optimizer = alone;
        pairs.push_back(solve_scaling(problem).branch_weight.value);
      }
      problem.optimizer = text;
      const ScalingSolution shared = solve_scaling(problem);
      CHECK(std::count(pairs.begin(), pairs.end(), shared.branch_weight.value) > 0);
      REQUIRE(shared.rest.size() >= 2);
      REQUIRE(shared.rest.front().loss_change);
      CHECK(shared.rest.front().loss_change->value > 0);
      // Larger branches make the change by lamb larger and that by ngd smaller: no pair bounds
      // both.
      if (placement == Placement::sub_ln && first == "lamb") continue;
      CHECK(shared.rest.front().loss_change->value <= 1 + 1e-12);
      problem.layers = 10000;
      CHECK(solve_scaling(problem).rest.front().loss_change->value <=
            shared.rest.front().loss_change->value * (1 + 1e-12));
    }
}

TEST_CASE("roles outside the branches leave their pair to the other optimizer") {
  ScalingProblem problem;
  problem.layers = 100;
  problem.optimizer = "sgd";
  const ScalingSolution alone = solve_scaling(problem);
  problem.optimizer = "adam(embedding,norm)+sgd";
  const ScalingSolution mixed = solve_scaling(problem);
  CHECK(mixed.alpha.value == alone.alpha.value);
  CHECK(mixed.lambda.value == alone.lambda.value);
  REQUIRE(mixed.rest.size() == 3);
  CHECK(mixed.rest[0].parameters == "embedding");
  CHECK(mixed.rest[0].optimizer == "adam");
  CHECK(mixed.rest[1].parameters == "head");
  CHECK(mixed.rest[1].optimizer == "sgd");
  CHECK(mixed.rest[2].optimizer == "adam");
}

TEST_CASE("the pairs that the sources state") {
  const ScalingSolution sgd = solution("sgd");
  CHECK(sgd.alpha_formula == "(2*N)^(1/4)");
  CHECK(sgd.lambda_formula == "(2*N)^(-1/4)");
  CHECK(sgd.alpha.value == rounded(6.687403049764221, 8));
  CHECK(sgd.lambda.value == rounded(0.14953487812212206, 8));

  const ScalingSolution adam = solution("adam");
  CHECK(adam.alpha_formula == "(2*N)^(1/2)");
  CHECK(adam.lambda_formula == "(2*N)^(-1/2)");
  CHECK(adam.alpha.value == rounded(std::sqrt(2000.0), 8));

  const ScalingSolution lamb = solution("lamb");
  CHECK(lamb.alpha_formula == "1");
  CHECK(lamb.lambda_formula == "(2*N)^(-1/2)");
  CHECK(solution("lamb", Placement::post, 1000, "symmetric").alpha_formula == "(2*N)^(1/3)");

  const ScalingSolution ngd = solution("ngd");
  CHECK(ngd.alpha_formula == "(2*N)^(1/4)");
  CHECK(solution("muon").alpha_formula == "(2*N)^(1/2)");
}

TEST_CASE("placements: alpha fixed, or read as 1/gamma") {
  CHECK(solution("sgd", Placement::pre).lambda_formula == "(2*N)^(-1/2)");
  CHECK(solution("adam", Placement::pre).lambda_formula == "1/(2*N)");
  CHECK(solution("lamb", Placement::pre).lambda_formula == "(2*N)^(-1/2)");
  for (const Placement placement : {Placement::res_post, Placement::sandwich, Placement::ngpt}) {
    CHECK(solution("sgd", placement).alpha_formula == "(2*N)^(1/2)");
    CHECK(solution("adam", placement).alpha_formula == "2*N");
    CHECK(solution("lamb", placement).alpha_formula == "2*N");
    CHECK(solution("lamb", placement, 7, "lambda=3").alpha_formula == "2*N");
  }
}

TEST_CASE("branchnorm at ramp 1/alpha is post placement at alpha") {
  for (const std::string& name : family_names()) {
    const ScalingSolution branch = solution(name, Placement::branchnorm),
                          post = solution(name, Placement::post);
    CHECK(branch.alpha_formula == post.alpha_formula);
    CHECK(branch.lambda_formula == post.lambda_formula);
    CHECK(branch.branch_sum.value == rounded(post.branch_sum.value, 64));
  }
  CHECK_THROWS_AS(solution("adam", Placement::rezero), Error);
}

// The equation rebuilt here from the powers, and evaluated in plain doubles.
TEST_CASE("every family, placement and constraint solves or explains itself") {
  const char* constraints[] = {"symmetric", "alpha=1", "lambda=1", "alpha=3*N", "lambda=1/(1+N)"};
  int solved = 0, refused = 0;
  for (const std::string& name : family_names()) {
    for (const Placement placement : placements) {
      for (const char* text : constraints) {
        for (const std::int64_t layers : {1, 12, 1000000}) {
          CAPTURE(name);
          CAPTURE(to_string(placement));
          CAPTURE(text);
          CAPTURE(layers);
          try {
            const ScalingSolution found = solution(name, placement, layers, text);
            // A product of powers: a few units in the last place per factor, times the exponents;
            // sub-ln's difference of nearby roots loses as many digits as its stream grows little.
            const double growth = std::min(1.0, 2.0 * layers * std::pow(found.lambda.value, 2));
            CHECK(std::fabs(found.equation_value - 1) < 1e-12 + 1e-15 / growth);
            CHECK(found.alpha.value > 0);
            CHECK(found.lambda.value > 0);
            ++solved;
          } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::usage);
            CHECK(error.message().find("= 1") != std::string::npos);
            CHECK(!error.hint().empty());
            ++refused;
          }
        }
      }
      CHECK_NOTHROW(solution(name, placement, 12));
    }
  }
  CHECK(solved > 500);
  CHECK(refused > 100);
}

TEST_CASE("contradictions and open systems") {
  CHECK_THROWS_AS(solution("adam", Placement::pre, 10, "alpha=2"), Error);
  CHECK_THROWS_AS(solution("adam", Placement::pre, 10, "lambda=1"), Error);
  // A constraint that repeats what follows anyway is no contradiction.
  CHECK(solution("adam", Placement::pre, 10, "lambda=1/(2*N)").lambda_formula == "1/(2*N)");
  try {
    solution("lamb", Placement::res_post, 10, "alpha=2*N");
    FAIL("lambda is open here");
  } catch (const Error& error) {
    CHECK(error.message().find("leaves lambda open") != std::string::npos);
  }
  CHECK_THROWS_AS(solution("sgd", Placement::post, 10, "alpha=N-10"), Error);
  CHECK_THROWS_AS(solution("sgd", Placement::post, 0), Error);
  CHECK_THROWS_AS(solution("sgd", Placement::post, 1000001), Error);
}

TEST_CASE("values are exact where the depth makes them so") {
  CHECK(solution("adam", Placement::post, 2).alpha.value == 2.0);
  CHECK(solution("adam", Placement::post, 2).lambda.value == 0.5);
  CHECK(solution("sgd", Placement::post, 8).alpha.value == 2.0);
}

TEST_CASE("what follows from the pair") {
  const ScalingSolution sgd = solution("sgd"), adam = solution("adam"), lamb = solution("lamb");
  CHECK(sgd.gradient_scale.value == rounded(std::pow(2000.0, -0.5), 8));
  CHECK(adam.gradient_scale.value == rounded(1 / 2000.0, 8));
  CHECK(to_string(sgd.branch_sum.formula) == "(2*N)^(-1/2)");
  CHECK(adam.branch_sum.formula == pow(2 * Expr::symbol("N"), Expr(-2)));
  CHECK(lamb.branch_sum.formula == pow(2 * Expr::symbol("N"), Expr(-1)));
  // sgd: eta/alpha; sign: eta/lambda; relative: eta; global norm: eta (2N)^(-1/2)/lambda.
  CHECK(to_string(sgd.relative_step_scale.formula) == "(2*N)^(-1/4)");
  CHECK(to_string(adam.relative_step_scale.formula) == "(2*N)^(1/2)");
  CHECK(lamb.relative_step_scale.formula == Expr(1));
  CHECK(to_string(solution("ngd").relative_step_scale.formula) == "(2*N)^(-1/4)");
}

TEST_CASE("alternatives solve the same equation") {
  const ScalingSolution sgd = solution("sgd");
  REQUIRE(sgd.alternatives.size() == 2);
  const Alternative& small_init = sgd.alternatives[0];
  CHECK(small_init.constraint == "alpha=1");
  CHECK(to_string(small_init.lambda.formula) == "(2*N)^(-1/2)");
  CHECK(small_init.relative_step.formula == Expr(1));
  const Alternative& large_skip = sgd.alternatives[1];
  CHECK(to_string(large_skip.alpha.formula) == "(2*N)^(1/2)");
  CHECK(to_string(large_skip.relative_step.formula) == "(2*N)^(-1/2)");
  CHECK(large_skip.branch_sum.formula == Expr(1));
}

TEST_CASE("conditions are evaluated where they are asked") {
  const auto holds = [](const ScalingSolution& found, const std::string& name) {
    for (const Condition& condition : found.conditions)
      if (condition.name == name) return condition.holds;
    FAIL("no condition " << name);
    return false;
  };
  CHECK(holds(solution("adam"), "branch_sum_small"));
  CHECK_FALSE(holds(solution("sgd", Placement::post, 1000, "lambda=2"), "branch_sum_small"));
  CHECK_FALSE(holds(solution("sgd", Placement::res_post, 1000, "alpha=1"), "identity_path"));
  CHECK(holds(solution("sgd", Placement::post, 1000, "lambda=1"), "identity_path"));
}
