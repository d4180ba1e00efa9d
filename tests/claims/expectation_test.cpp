#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::test;

namespace {

/// Holds, and by a proof.
void check_proved(const std::string& assertion, const std::string& more = "") {
  INFO(assertion);
  const ClaimResult claim = check_one(assertion, more);
  CHECK(claim.holds);
  const MethodResult* symbolic = method_of(claim, ClaimMethod::symbolic);
  REQUIRE(symbolic != nullptr);
  CHECK(symbolic->proved);
  CHECK(method_of(claim, ClaimMethod::quadrature) != nullptr);
  CHECK(method_of(claim, ClaimMethod::montecarlo) != nullptr);
}

}  // namespace

TEST_CASE("polynomials of Gaussian variables are proved by Isserlis' theorem") {
  check_proved("E[z^4] == 3");
  check_proved("E[x^3] == m^3 + 3*m*q", "let = { x = 'normal(m, q)' }");
  check_proved("E[u^2*v^2] == q^2*(1 + 2*c^2)",
               "let = { 'u, v' = 'normal(0, q, c)', c = 'in (-1, 1)' }");
  check_proved("E[(u + v)^2] == 2*q*(1 + c)",
               "let = { 'u, v' = 'normal(0, q, c)', c = 'in (-1, 1)' }");
  check_proved("E[sum(i, 1, d, q[i]*k[i])^2] == d",
               "let = { 'q, k' = 'normal(0, 1)[d]' }\nfor = { d = [1, 3] }");
  check_proved("E[sum(i, 1, 3, q[i])^4] == 27", "let = { q = 'normal(0, 1)[3]' }");
}

TEST_CASE("activations are proved from their closed forms") {
  check_proved("E[relu(z)^2] == q/2", "let = { z = 'normal(0, q)' }");
  check_proved("E[relu(u)^2*(v + 1)^2] == 1", "let = { 'u, v' = 'normal(0, 1)' }");
  check_proved("E[relu(u + v)^2] == 1", "let = { 'u, v' = 'normal(0, 1)' }");
  check_proved("E[relu(u)*relu(v)] == q/(2*pi)*(sqrt(1 - c^2) + c*(pi - acos(c)))",
               "let = { 'u, v' = 'normal(0, q, c)', c = 'in (-1, 1)' }");
  check_proved("E[relu(u)*v] == c/2", "let = { 'u, v' = 'normal(0, 1, c)', c = 'in (-1, 1)' }");
  check_proved("E[relu'(z)^2] == 1/2");
  check_proved("E[leaky_relu(z, a=1/5)^2] == 13/25");
  check_proved("E[exp(s*z)] == exp(s^2/2)", "for = { s = [0.5, 1] }");
}

TEST_CASE("without a closed form the numbers decide, and the claim is not called proved") {
  const ClaimResult claim = check_one("E[sigmoid(z)^2] ~= 0.2933790...");
  CHECK(claim.holds);
  CHECK(method_of(claim, ClaimMethod::symbolic) == nullptr);
  REQUIRE(claim.skipped.size() == 1);
  CHECK(says(claim.skipped[0].second, "no closed form"));
  CHECK_FALSE(method_of(claim, ClaimMethod::quadrature)->proved);
}

TEST_CASE("a function of two variables is integrated and sampled") {
  const ClaimResult claim =
      check_one("E[max(u, v)] == 1/sqrt(pi)", "let = { 'u, v' = 'normal(0, 1)' }");
  CHECK(claim.holds);
  REQUIRE(method_of(claim, ClaimMethod::quadrature) != nullptr);
  // A kink along a line costs a product rule most of its digits, yet no more than these.
  CHECK(*method_of(claim, ClaimMethod::quadrature)->error < 1e-5);
  const ClaimResult correlated =
      check_one("E[max(u, v)] == sqrt((1 - 3/5)/pi)", "let = { 'u, v' = 'normal(0, 1, 3/5)' }");
  CHECK(correlated.holds);
}

TEST_CASE("three variables that hang together are sampled alone") {
  const ClaimResult claim =
      check_one("E[max(u, v, w)] == 3/(2*sqrt(pi))", "let = { 'u, v, w' = 'normal(0, 1)' }");
  CHECK(claim.holds);
  CHECK(claim.methods.size() == 1);
  CHECK(claim.methods[0].method == ClaimMethod::montecarlo);
}

TEST_CASE("an expectation that does not exist is bad input by every method") {
  for (const char* by : {"", "by = ['montecarlo']", "by = ['quadrature']", "by = ['symbolic']"})
    for (const char* body : {"1/z", "exp(z^2)", "log(z)", "sqrt(z)"}) {
      const std::string what = complaint(claim_text(std::string("E[") + body + "] == 1", by));
      INFO(by << " " << body << ": " << what);
      CHECK(says(what, "test.toml:2:11"));
    }
}

TEST_CASE("an impossible correlation is bad input") {
  CHECK(says(complaint(claim_text("E[u*v] == 2", "let = { 'u, v' = 'normal(0, 1, 2)' }")),
             "a correlation is within [-1, 1]"));
  CHECK(says(
      complaint(claim_text("E[max(u, v, w)] == 2", "let = { 'u, v, w' = 'normal(0, 1, -0.9)' }")),
      "no variables have such correlations"));
  CHECK(says(complaint(claim_text("E[z] == 2", "let = { z = 'normal(0, -1)' }")),
             "a variance must not be negative"));
}
