#include <doctest/doctest.h>

#include <cmath>

#include "scalecalc/scaling.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

ModelSpec block() {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.width = 64;
  spec.ffn = 256;
  spec.sequence = 8;
  spec.vocab = 32;
  spec.activation = "relu";
  spec.init.scheme = "he";
  return spec;
}

ExactSolution solved(const char* optimizer, std::int64_t layers, const char* constraint = "",
                     Placement placement = Placement::post, std::int64_t reference = 1) {
  ModelSpec spec = block();
  spec.placement = placement;
  ScalingProblem problem;
  problem.layers = layers;
  problem.optimizer = optimizer;
  problem.placement = placement;
  if (*constraint) problem.constraint = Constraint::parse(constraint);
  return solve_exact(spec, problem, reference);
}

}  // namespace

// TOMS 748 stops at 40 bits of ln lambda, and the loss change is a power of it.
constexpr double solved_share = 0x1p-30;

TEST_CASE("the loss change at both depths is the same, under every family and constraint") {
  for (const char* optimizer : {"sgd", "adam", "lamb", "lars", "muon", "ngd"}) {
    CAPTURE(std::string(optimizer));
    const ExactSolution found = solved(optimizer, 12);
    CHECK(std::fabs(found.residual) < solved_share);
    CHECK(found.solved.delta_loss ==
          doctest::Approx(found.reference.delta_loss).epsilon(solved_share));
    CHECK(found.reference.layers == 1);
    CHECK(found.solved.layers == 12);
  }
  for (const char* constraint : {"symmetric", "alpha=1", "lambda=1", "alpha=(2*N)^(1/3)"}) {
    CAPTURE(std::string(constraint));
    const ExactSolution found = solved("sgd", 12, constraint);
    CHECK(std::fabs(found.residual) < solved_share);
  }
}

TEST_CASE("the constraint holds at the solved pair") {
  // Both come from ln lambda, by two exponentials.
  CHECK(solved("adam", 12).solved.alpha * solved("adam", 12).solved.lambda == rounded(1, 64));
  CHECK(solved("sgd", 12, "alpha=1").solved.alpha == 1);
  CHECK(solved("sgd", 12, "lambda=1").solved.lambda == 1);
}

TEST_CASE("at the reference depth the pair is the power law's") {
  const ExactSolution found = solved("adam", 6, "", Placement::post, 6);
  // The 40 bits of TOMS 748.
  CHECK(found.solved.alpha == doctest::Approx(found.law.alpha.value).epsilon(1e-10));
  CHECK(found.solved.lambda == doctest::Approx(found.law.lambda.value).epsilon(1e-10));
}

// Once branches are small nothing but their number changes with depth, so the exact pair grows with
// the power law's exponents; their sum 2 N lambda^4/alpha^2 is (2N)^(-2) under Adam, and below 1%
// from here on.
TEST_CASE("between great depths the exact pair follows the power law's exponents") {
  const auto exponent = [](const char* optimizer, const char* constraint, bool of_alpha) {
    const ExactSolution from = solved(optimizer, 32, constraint, Placement::post, 32);
    const ExactSolution to = solved(optimizer, 128, constraint, Placement::post, 32);
    const double ratio =
        of_alpha ? to.solved.alpha / from.solved.alpha : to.solved.lambda / from.solved.lambda;
    return std::log(ratio) / std::log(4.0);
  };
  // Between depths 32 and 128 the exponent is still a few hundredths from its limit.
  CHECK(exponent("adam", "", true) == doctest::Approx(0.5).epsilon(0.02));
  CHECK(exponent("adam", "", false) == doctest::Approx(-0.5).epsilon(0.02));
  CHECK(exponent("sgd", "", true) == doctest::Approx(0.25).epsilon(0.1));
  CHECK(exponent("adam", "alpha=1", false) == doctest::Approx(-1).epsilon(0.02));
}

// docs/theory/scaling.md#warm-up: with a layernorm inside the branch the loss change of sub-ln
// grows as N^(kappa - 1) whatever lambda.
TEST_CASE("a block that no pair can hold says so") {
  try {
    solved("adam", 12, "", Placement::sub_ln);
    FAIL("solved");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsolvable);
    CHECK(std::string(error.what()).find("alpha=1") != std::string::npos);
  }
}

TEST_CASE("pre, res-post and sandwich blocks are solved too") {
  for (const Placement placement : {Placement::pre, Placement::res_post, Placement::sandwich}) {
    CAPTURE(to_string(placement));
    const ExactSolution found = solved("adam", 12, "", placement);
    CHECK(std::fabs(found.residual) < solved_share);
    CHECK(found.branch_weight.value > 0);
  }
}

TEST_CASE("what solve_scaling refuses is refused, and so is a bad depth") {
  CHECK_THROWS_AS(solved("adam", 12, "", Placement::rezero), Error);
  CHECK_THROWS_AS(solved("adam", 12, "alpha=2", Placement::pre), Error);
  CHECK_THROWS_AS(solved("adam", 12, "", Placement::post, 0), Error);
  CHECK_THROWS_AS(solved("adam", 0), Error);
}

TEST_CASE("schemes at one depth") {
  ModelSpec spec = block();
  spec.layers = 4;
  spec.alpha = parse("(2*N)^(1/2)");
  spec.lambda = parse("(2*N)^(-1/2)");
  const auto schemes = scheme_profiles(spec, optimizer("adam"));
  CHECK(schemes.size() == 5);
  CHECK(schemes[0].alpha == doctest::Approx(std::sqrt(8.0)));
  CHECK(schemes[0].identity_weight > 0.9);
  CHECK(schemes[1].identity_weight < 0.3);
  for (const DepthProfile& one : schemes) {
    CHECK(one.sublayers.size() == 8);
    CHECK(one.delta_loss > 0);
  }
}
