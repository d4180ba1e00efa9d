#include "verify/agreement/cause.hpp"

#include <doctest/doctest.h>

namespace scalecalc {
namespace {

Site site(const std::string& path, const std::string& kind) {
  Site result;
  result.path = path;
  result.kind = kind;
  return result;
}

Comparison failing(const std::string& path, const std::string& quantity) {
  Comparison comparison;
  comparison.path = path;
  comparison.quantity = quantity;
  return comparison;
}

Comparison passing(const std::string& path, const std::string& quantity) {
  Comparison comparison = failing(path, quantity);
  comparison.ok = true;
  return comparison;
}

Trace small_block() {
  Trace trace;
  trace.sites = {site("input", "input"),     site("b.attn.q", "linear"),
                 site("b.attn.k", "linear"), site("b.attn.mix", "attention"),
                 site("b.ffn.in", "linear"), site("b.ffn.act", "activation"),
                 site("head", "head")};
  trace.assumptions = {
      {"attention", "scores are Gaussian", "b.attn.mix", "", true},
      {"attention", "tokens are few beside the width", "b.attn.mix", "T/d = 0.9 is small", false},
      {"activation", "the input is Gaussian", "b.ffn.act", "", true}};
  return trace;
}

TEST_CASE("nothing is blamed where all is well") {
  Verification verification;
  verification.sites = {passing("input", "second")};
  CHECK(likely_causes(small_block(), verification).empty());
}

TEST_CASE("forward, the first failing site is named with its rule's broken assumption") {
  Verification verification;
  verification.sites = {passing("input", "second"), failing("b.attn.mix", "second"),
                        failing("b.ffn.act", "second")};
  const std::vector<Cause> causes = likely_causes(small_block(), verification);
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].path == "b.attn.mix");
  CHECK(causes[0].rule == "attention");
  CHECK(causes[0].assumption == "tokens are few beside the width");
  CHECK(causes[0].condition == "T/d = 0.9 is small");
  CHECK_FALSE(causes[0].condition_holds);
}

TEST_CASE("backward, the last failing site and the layer that reads it") {
  Verification verification;
  verification.sites = {failing("b.attn.q", "grad_second"), failing("b.ffn.in", "grad_second"),
                        passing("b.ffn.act", "grad_second")};
  std::vector<Cause> causes = likely_causes(small_block(), verification);
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].path == "b.ffn.in");
  CHECK(causes[0].rule == "activation");
  CHECK(causes[0].assumption == "the input is Gaussian");
  verification.sites[1].ok = true;
  causes = likely_causes(small_block(), verification);
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].rule == "attention");
  verification.sites = {failing("head", "grad_second")};
  CHECK(likely_causes(small_block(), verification)[0].rule == "loss");
}

TEST_CASE("weights are blamed where no site fails") {
  Verification verification;
  verification.parameters = {failing("b.attn.q.weight", "grad_second"),
                             passing("head.weight", "grad_second")};
  const std::vector<Cause> causes = likely_causes(small_block(), verification);
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].path == "b.attn.q.weight");
  CHECK(causes[0].rule == "attention");
  verification.sites = {failing("b.ffn.act", "second")};
  CHECK(likely_causes(small_block(), verification)[0].path == "b.ffn.act");
}

}  // namespace
}  // namespace scalecalc
