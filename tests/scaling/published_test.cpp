#include <doctest/doctest.h>

#include <cmath>

#include "scalecalc/scaling.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("one stack: (2N)^(1/4), (8N)^(-1/4), re-derived exactly") {
  const auto pairs = deepnet_rule(Architecture::encoder, 100, 0);
  REQUIRE(pairs.size() == 1);
  CHECK(to_string(pairs[0].alpha.formula) == "(2*N)^(1/4)");
  CHECK(to_string(pairs[0].lambda.formula) == "(8*N)^(-1/4)");
  CHECK(pairs[0].rederived_alpha.formula == pairs[0].alpha.formula);
  CHECK(pairs[0].rederived_lambda.formula == pairs[0].lambda.formula);
  CHECK(pairs[0].ratio.value == rounded(1 / std::sqrt(400.0), 8));
}

TEST_CASE("two stacks: the decoder exactly, the encoder's 0.81 and 0.87 to their two digits") {
  const auto pairs = deepnet_rule(Architecture::encoder_decoder, 18, 6);
  REQUIRE(pairs.size() == 2);
  const PublishedPair &encoder = pairs[0], &decoder = pairs[1];
  CHECK(decoder.rederived_alpha.formula == decoder.alpha.formula);
  CHECK(decoder.rederived_lambda.formula == decoder.lambda.formula);
  CHECK(to_string(decoder.lambda.formula) == "(12*M)^(-1/4)");
  const double power = std::pow(std::pow(18.0, 4) * 6, 1.0 / 16);
  CHECK(encoder.alpha.value == rounded(0.81 * power, 64));
  // Published to two decimals.
  CHECK(std::fabs(encoder.rederived_alpha.value / power - 0.81) < 0.005);
  CHECK(std::fabs(encoder.rederived_lambda.value * power - 0.87) < 0.005);
  // The powers of both depths are the published ones exactly.
  CHECK((encoder.rederived_alpha.formula / encoder.alpha.formula).contains("N") == false);
  CHECK((encoder.rederived_alpha.formula / encoder.alpha.formula).contains("M") == false);
}

TEST_CASE("architectures by name") {
  for (const std::string& name : architecture_names()) CHECK_NOTHROW(architecture_from(name));
  CHECK_THROWS_AS(architecture_from("encoder_decoder"), Error);
}
