#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "scalecalc/error.hpp"
#include "scalecalc/verify.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

using Depths = std::vector<std::int64_t>;

ScalingProblem problem_at(std::int64_t layers, const char* optimizer = "adam") {
  ScalingProblem problem;
  problem.layers = layers;
  problem.optimizer = optimizer;
  return problem;
}

/// A narrow block, measured fast.
SweepOptions narrow(const char* optimizer_name) {
  SweepOptions options;
  options.model.width = 16;
  options.model.heads = 2;
  options.model.ffn = 64;
  options.model.vocab = 8;
  options.model.sequence = 4;
  options.update = optimizer(optimizer_name).update;
  options.seeds = 3;
  return options;
}

}  // namespace

TEST_CASE("depths rise by factors of four to the asked one") {
  CHECK(scaling_pair(problem_at(2)).layers == Depths{1, 2});
  CHECK(scaling_pair(problem_at(7)).layers == Depths{1, 7});
  CHECK(scaling_pair(problem_at(8)).layers == Depths{2, 8});
  CHECK(scaling_pair(problem_at(1000)).layers == Depths{2, 8, 32, 128, 1000});
  CHECK_THROWS_AS(scaling_pair(problem_at(1)), Error);
}

TEST_CASE("the pair holds the loss change, and without it the change grows") {
  const ScalingPair pair = scaling_pair(problem_at(64));
  CHECK(pair.exponent == 0);
  REQUIRE(pair.plain_exponent);
  CHECK(*pair.plain_exponent > 0.5);
  const ScalingSolution solution = solve_scaling(problem_at(64));
  CHECK(to_string(pair.alpha) == to_string(solution.alpha.formula));
  CHECK(to_string(pair.lambda) == to_string(solution.lambda.formula));
}

TEST_CASE("a published pair is checked as it stands") {
  const PublishedPair published = deepnet_rule(Architecture::encoder, 32, 0).front();
  const ScalingPair pair = scaling_pair(problem_at(32), published);
  CHECK(to_string(pair.alpha) == to_string(published.alpha.formula));
  CHECK(to_string(pair.lambda) == to_string(published.lambda.formula));
  CHECK(pair.exponent == 0);
}

TEST_CASE("a pair of one block passes through both its depths") {
  ExactSolution solution;
  solution.reference = {1, 1.5, 0.75, 0};
  solution.solved = {16, 3.25, 0.125, 0};
  const ScalingPair pair = scaling_pair(problem_at(16), solution);
  CHECK(pair.layers == Depths{1, 16});
  for (const ExactPoint& point : {solution.reference, solution.solved}) {
    const Bindings at = {{"N", static_cast<double>(point.layers)}};
    CHECK(evaluate(pair.alpha, at) == rounded(point.alpha, 64));
    CHECK(evaluate(pair.lambda, at) == rounded(point.lambda, 64));
  }
  solution.reference.layers = 16;
  CHECK_THROWS_AS(scaling_pair(problem_at(16), solution), Error);
}

TEST_CASE("real passes beside the pair, half the progress each") {
  SweepOptions options = narrow("adam");
  options.quantity = Quantity::grad_norm;  // replaced
  options.engine = SweepEngine::quadrature;
  double last = 0;
  options.progress = [&last](double done, const std::string&) {
    CHECK(done >= last);
    last = done;
    return true;
  };
  const ScalingPair pair = scaling_pair(problem_at(8));
  const ScalingVerification result = verify_scaling(pair, options);
  CHECK(last == doctest::Approx(1));
  CHECK(result.pair.points.size() == pair.layers.size());
  CHECK(result.pair.points[0].samples.size() == 3);
  CHECK(result.plain.points.back().alpha == 1);
  CHECK(std::fabs(result.predicted - pair.exponent) < 0.2);  // a term of 1/N
  CHECK(result.holds_deep);
  CHECK(result.tolerance >= 0.1);
  CHECK(result.passed == (std::fabs(result.pair.exponent - result.predicted) <= result.tolerance));
  CHECK(result.plain.exponent > result.pair.exponent);
}

TEST_CASE("at few layers passes give what the moments predict, which is the promise for many") {
  for (const char* name : {"sgd", "adam", "muon", "lamb", "ngd"}) {
    CAPTURE(name);
    SweepOptions options = narrow(name);
    options.seeds = 8;
    const ScalingVerification result = verify_scaling(scaling_pair(problem_at(8, name)), options);
    REQUIRE(result.predicted_deep);
    CHECK(result.predicted != 0);
    CHECK(result.holds_deep);
    CHECK(result.passed);
  }
}

TEST_CASE("a pair of a root is held to its promise alone, as its formula ends at its depths") {
  ScalingProblem problem = problem_at(8, "sgd");
  problem.placement = Placement::sub_ln;
  const ScalingPair root = scaling_pair(problem);
  REQUIRE_FALSE(root.at_any_depth);
  SweepOptions options = narrow("sgd");
  options.model.placement = Placement::sub_ln;
  const ScalingVerification result = verify_scaling(root, options);
  CHECK_FALSE(result.predicted_deep);
  CHECK(result.predicted == root.exponent);
}

TEST_CASE("a pair that is none fails") {
  ScalingPair wrong = scaling_pair(problem_at(32));
  wrong.alpha = wrong.lambda = Expr(1);
  const ScalingVerification result = verify_scaling(wrong, narrow("adam"));
  CHECK_FALSE(result.holds_deep);
  CHECK_FALSE(result.passed);
}

TEST_CASE("two stacks grow together, each with its own pair") {
  ScalingProblem decoder = problem_at(6);
  decoder.sublayers = 3;
  decoder.depth_symbol = "M";
  const ScalingPair pair =
      scaling_pair_of_two(scaling_pair(problem_at(18)), scaling_pair(decoder), 18, 6);
  CHECK(pair.layers == Depths{2, 8, 18});
  REQUIRE(pair.decoder);
  CHECK(to_string(pair.decoder->layers) == to_string(parse("N/3")));
  CHECK(to_string(pair.decoder->alpha) == to_string(solve_scaling(decoder).alpha.formula));
  SweepOptions options = narrow("adam");
  const ScalingVerification result = verify_scaling(pair, options);
  CHECK(result.pair.points[0].decoder_layers == 1);
  CHECK(result.pair.points[2].decoder_layers == 6);
  CHECK(result.pair.finite);
  CHECK(result.passed);
  REQUIRE(result.predicted_plain);
  CHECK(result.plain.exponent > result.pair.exponent);
  ScalingPair none = pair;
  none.alpha = none.lambda = none.decoder->alpha = none.decoder->lambda = Expr(1);
  const ScalingVerification wrong = verify_scaling(none, options);
  CHECK_FALSE(wrong.holds_deep);
  CHECK_FALSE(wrong.passed);
}
