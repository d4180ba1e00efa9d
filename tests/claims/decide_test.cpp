#include <cmath>

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;
using namespace scalecalc::test;

TEST_CASE("strict means strict") {
  CHECK_FALSE(check_one("E[relu(z)^2] < 1/2").holds);
  CHECK(check_one("E[relu(z)^2] <= 1/2").holds);
  CHECK_FALSE(check_one("E[relu(z)^2] > 1/2").holds);
  CHECK(check_one("E[tanh(z)^2] < 1/2").holds);
  CHECK_FALSE(check_one("E[tanh(z)^2] >= 1/2").holds);
  CHECK_FALSE(check_one("pi == 3.141592653589793").holds);
  CHECK(check_one("pi > 3.141592653589793").holds);
}

TEST_CASE("a claim that an assertion fails holds when it fails") {
  CHECK(check_one("E[relu(z)^2] < 1/2", "fails = true").holds);
  CHECK_FALSE(check_one("E[relu(z)^2] == 1/2", "fails = true").holds);
  CHECK(check_one("E[gelu(z)] == 0", "fails = true").holds);
}

TEST_CASE("~= asks for half a unit of the last digit, with dots for the digits themselves") {
  CHECK(check_one("pi ~= 3.14").holds);
  CHECK(check_one("pi ~= 3.1416").holds);
  CHECK_FALSE(check_one("pi ~= 3.1415").holds);
  CHECK(check_one("pi ~= 3.1415...").holds);
  CHECK_FALSE(check_one("pi ~= 3.1416...").holds);
  CHECK(check_one("-pi ~= -3.1415...").holds);
  CHECK_FALSE(check_one("gain(tanh) ~= 1.6667").holds);
  CHECK(check_one("gain(tanh) ~= 1.5925").holds);
}

TEST_CASE("within is a share of the right side, or an amount") {
  CHECK(check_one("104 == 100 within 4%").holds);
  CHECK_FALSE(check_one("105 == 100 within 4%").holds);
  CHECK(check_one("-96 == -100 within 4%").holds);
  CHECK(check_one("100.1 == 100 within 0.1").holds);
  CHECK_FALSE(check_one("gain(gelu) == 1.7 within 5%").holds);
}

TEST_CASE("symbols without a value stand for every positive number") {
  CHECK(check_one("sqrt(q^2) == q").holds);
  CHECK_FALSE(check_one("sqrt(x^2) == x", "let = { x = 'real' }").holds);
  CHECK(check_one("q + 1 > q").methods.at(0).proved);
  CHECK(check_one("c^2 < 1", "let = { c = 'in (-1, 1)' }").holds);
  CHECK_FALSE(check_one("c^2 < 1").holds);
}

TEST_CASE("let names formulas, also of random variables") {
  CHECK(check_one("E[y^2] == q/2", "let = { z = 'normal(0, q)', y = 'relu(z)' }").holds);
  CHECK(check_one("E[y^2] == 1", "let = { y = 's*relu(z)', s = 'sqrt(2)' }\nfor = { t = [1] }")
            .holds == false);
  CHECK(check_one("E[y^2] == 1", "let = { s = 'sqrt(2)', y = 's*relu(z)' }").holds);
  CHECK(check_one("v == 1/2", "let = { v = 'E[relu(z)^2]' }").holds);
  CHECK(says(complaint(claim_text("y == 1", "let = { y = 'relu(z)' }")),
             "a side of the claim is random (test.toml:2:11)"));
}

TEST_CASE("by names who must decide") {
  const ClaimResult claim = check_one("E[relu(z)^2] == 1/2", "by = ['quadrature']");
  REQUIRE(claim.methods.size() == 1);
  CHECK(claim.methods[0].method == ClaimMethod::quadrature);
  CHECK(says(complaint(claim_text("E[tanh(z)^2] == 1", "by = ['symbolic']")),
             "symbolic does not apply: no closed form"));
  CHECK(says(complaint(claim_text("1 == 1", "by = ['magic']")), "unknown method 'magic'"));
  CHECK(says(complaint(claim_text("E[z^2] == 1", "by = ['passes']")), "nothing in it is measured"));
  CHECK(says(complaint(claim_text("gain(relu) == 1", "by = ['montecarlo']")),
             "nothing in it is sampled"));
  const ClaimResult sampled =
      check_one("site(preset=\"mlp-relu\", layers=2, path=\"layer[1].act\").second == 1",
                "by = ['montecarlo']");
  CHECK(sampled.holds);
  CHECK(*sampled.methods.at(0).error > 0);
}

TEST_CASE("published claims are compared with what is so") {
  const std::string text =
      "[[claim]]\nname = 'a'\npublished = '5/3'\ntruth = 'gain(tanh)'\nfinding = 'wrong'\n"
      "[[claim]]\nname = 'b'\npublished = '1.5925'\ntruth = 'gain(tanh)'\nfinding = 'right'\n"
      "[[claim]]\nname = 'c'\npublished = '1.6'\ntruth = 'gain(tanh)'\nfinding = 'approximation'\n"
      "within = '1%'\n";
  const ClaimsReport::File file = check_claims_text(text, "test.toml");
  REQUIRE(file.claims.size() == 3);
  for (const ClaimResult& claim : file.claims) CHECK(claim.holds);
  REQUIRE(file.claims[0].finding);
  const double truth = *file.claims[0].finding->true_value;
  CHECK(truth == printed(1.59253741972283, 5e-15));
  CHECK(*file.claims[0].finding->off == rounded(5 / (3 * truth) - 1, 8, 1));
  CHECK_FALSE(check_claims_text("[[claim]]\npublished = '1.60'\ntruth = 'gain(tanh)'\n"
                                "finding = 'right'\n",
                                "test.toml")
                  .claims[0]
                  .holds);
}

TEST_CASE("a whole number that is published is meant exactly, a decimal to its digits") {
  const auto holds = [](const std::string& published, const std::string& truth) {
    const std::string text =
        "[[claim]]\npublished = '" + published + "'\ntruth = '" + truth + "'\nfinding = 'right'\n";
    return check_claims_text(text, "test.toml").claims[0].holds;
  };
  CHECK(holds("1", "2*E[relu(z)^2]"));
  CHECK_FALSE(holds("1", "5/2*E[relu(z)^2]"));
  CHECK(holds("1.2", "5/2*E[relu(z)^2]"));
  CHECK_FALSE(holds("1.0", "5/2*E[relu(z)^2]"));
}

TEST_CASE("what is wrong in a file is said at its place") {
  CHECK(says(complaint("[[claim]]\nasert = '1 == 1'\n"),
             "unknown key of a claim 'asert' (test.toml:2:1); did you mean 'assert'"));
  CHECK(says(complaint("[[claim]]\nname = 'x'\n"), "a claim without assert (test.toml:1:1)"));
  CHECK(says(complaint("title = 'x'\n"), "a claim file without claims"));
  CHECK(says(complaint("[[claim]\n"), "not valid TOML"));
  CHECK(says(complaint(claim_text("1 == 1", "fails = 1")), "fails must be true or false"));
  CHECK(says(complaint("[[claim]]\nassert = \"1 == \xFF\"\n"),
             "must be UTF-8 text (test.toml:2:16)"));
  CHECK(says(complaint(std::string(2000000, ' ')), "may have at most 1048576 bytes"));
  CHECK(says(complaint(claim_text("q == q", "for = { q = [] }")), "for has no value of q"));
  CHECK(says(complaint(claim_text("q == q", "for = { q = ['x'] }")), "test.toml:3:"));
  std::string numbers = "0";
  for (int k = 1; k <= 100; ++k) numbers += ", " + std::to_string(k);
  CHECK(says(
      complaint(claim_text("q == q", "for = { q = [" + numbers + "], r = [" + numbers + "] }")),
      "more than 10000 combinations"));
}

TEST_CASE("divisions by zero and loops without an end are bad input") {
  CHECK(says(complaint(claim_text("1/(q - q) == 1")), "division by zero (test.toml:2:12)"));
  CHECK(says(complaint(claim_text("1/(q - 1) == 1", "for = { q = [0, 1] }")),
             "division by zero (test.toml:2:12)"));
  CHECK(says(complaint(claim_text("product(k, 1, inf, k) == 1")), "a bound that never ends"));
  CHECK(says(complaint(claim_text("product(k, 1, 10^12, k) == 1")),
             "product of 1000000000000 factors; at most 100000"));
  CHECK(says(complaint(claim_text("sum(k, 1, 1000, sum(j, 1, 9999, 0)) == 0")),
             "more than 1000000 steps in the loops of one claim"));
}
