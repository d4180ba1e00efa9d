#include "scaling/block.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace scalecalc;

namespace {

const Placement all[] = {Placement::post,     Placement::pre,    Placement::res_post,
                         Placement::sandwich, Placement::sub_ln, Placement::branchnorm,
                         Placement::ngpt,     Placement::none};

Expr formula(const char* text) {
  return parse(text);
}

}  // namespace

TEST_CASE("gradients of the gains of norms, by placement") {
  const Expr alpha = alpha_symbol(), lambda = lambda_symbol();
  const auto check = [](Placement placement, const std::vector<Expr>& expected) {
    CAPTURE(to_string(placement));
    const std::vector<Expr> sizes = gain_gradient_sizes(block_of(placement));
    REQUIRE(sizes.size() == expected.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) CHECK(sizes[i] == expected[i]);
  };
  check(Placement::post, {1});
  check(Placement::branchnorm, {1});
  check(Placement::ngpt, {1, 1 / alpha});
  check(Placement::pre, {lambda * lambda});
  check(Placement::res_post, {1 / alpha});
  check(Placement::sandwich, {1 / alpha});
  check(Placement::sub_ln, {lambda});
  check(Placement::none, {});
}

TEST_CASE("gradient and branch sizes per placement") {
  struct Expected {
    Placement placement;
    const char* gradient;
    const char* branch;
  };
  for (const Expected& expected :
       {Expected{Placement::post, "lambda/alpha", "lambda^2/alpha"},
        Expected{Placement::pre, "lambda", "lambda^2"},
        Expected{Placement::none, "lambda", "lambda^2"},
        Expected{Placement::branchnorm, "lambda/alpha", "lambda^2/alpha"},
        Expected{Placement::res_post, "1/(alpha*lambda)", "1/alpha"},
        Expected{Placement::sandwich, "1/(alpha*lambda)", "1/alpha"},
        Expected{Placement::ngpt, "1/(alpha*lambda)", "1/alpha"},
        Expected{Placement::sub_ln, "1", "lambda"}}) {
    const Block block = block_of(expected.placement);
    CAPTURE(block.picture);
    CHECK(gradient_size(block, 1) == formula(expected.gradient));
    CHECK(branch_size(block) == formula(expected.branch));
  }
}

TEST_CASE("both matrices of a branch have gradients of the same size") {
  for (const Placement placement : all) {
    const Block block = block_of(placement);
    CAPTURE(block.picture);
    CHECK(gradient_size(block, 1) == gradient_size(block, 2));
  }
}

// One feature, F = lambda_1 lambda_2, Norm(z) = direction: the norm's slope across its input is
// 1/|z|, which a rotation by a small angle shows without any of the code above.
TEST_CASE("a norm divides a sideways change by the size of its input") {
  const double size = 3.0, step = 1e-6;
  const double normal[2] = {size / std::hypot(size, step), step / std::hypot(size, step)};
  const double sideways = normal[1] / step;
  const Block block = block_of(Placement::res_post);
  const double predicted =
      evaluate(gradient_size(block, 1), {{"alpha", 1.0}, {"lambda", std::sqrt(size)}});
  // d F / d lambda_1 = lambda_2 = sqrt(3): the change across F of size 3.
  CHECK(std::sqrt(size) * sideways == doctest::Approx(predicted).epsilon(1e-9));
}

TEST_CASE("what follows from the block's expression") {
  struct Expected {
    Placement placement;
    StreamGrowth growth;
    bool normalised, carries_alpha, by_growth, bare;
  };
  using Growth = StreamGrowth;
  for (const Expected& expected :
       {Expected{Placement::post, Growth::held, true, true, false, true},
        Expected{Placement::branchnorm, Growth::held, true, true, false, true},
        Expected{Placement::ngpt, Growth::held, true, true, false, true},
        Expected{Placement::pre, Growth::added, false, false, false, false},
        Expected{Placement::res_post, Growth::added, false, true, false, true},
        Expected{Placement::sandwich, Growth::added, false, true, false, false},
        Expected{Placement::sub_ln, Growth::added, false, false, true, false},
        Expected{Placement::none, Growth::multiplied, false, false, false, true}}) {
    const Block block = block_of(expected.placement);
    CAPTURE(block.picture);
    CHECK((stream_growth(block) == expected.growth));
    CHECK(is_normalised(block) == expected.normalised);
    CHECK(carries_alpha(block) == expected.carries_alpha);
    CHECK(closes_by_growth(block) == expected.by_growth);
    CHECK(reads_bare_stream(block) == expected.bare);
    CHECK(fixed_alpha_reason(block).empty() == false);
  }
  CHECK(fixed_alpha_reason(block_of(Placement::pre)).find("the norm stands") == 0);
  CHECK(fixed_alpha_reason(block_of(Placement::sub_ln)).find("the norms stand") == 0);
  CHECK(fixed_alpha_reason(block_of(Placement::none)).find("nothing normalises") == 0);
}

TEST_CASE("schemes without a pair to solve say why") {
  const auto message = [](Placement placement) {
    try {
      block_of(placement);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK_FALSE(error.hint().empty());
      return error.message();
    }
    return std::string();
  };
  CHECK(message(Placement::rezero).find("branches start at 0") != std::string::npos);
  CHECK(message(Placement::skipinit).find("1/(2*N)") != std::string::npos);
  CHECK(message(Placement::fixup).find("L^(-1/(2m - 2))") != std::string::npos);
  CHECK(message(Placement::resi_dual).find("second stream") != std::string::npos);
}
