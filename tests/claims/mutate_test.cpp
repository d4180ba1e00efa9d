#include "claims/mutate.hpp"

#include <algorithm>
#include <set>

#include "claims/formula_text.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::claims;
using namespace scalecalc::test;

namespace {

Claim claim_of(const std::string& assertion, const std::string& more = "") {
  return read_claims(claim_text(assertion, more), "test.toml").claims.front();
}

/// What the mutants of one kind say, "not: ..." of a denied one.
std::set<std::string> texts(const std::string& assertion, Mutation kind,
                            const std::string& more = "") {
  std::set<std::string> found;
  for (const Mutant& mutant : mutants_of(claim_of(assertion, more)))
    if (mutant.mutation == kind)
      found.insert((mutant.fails ? "not: " : "") + mutant.assertion.text);
  return found;
}

using Texts = std::set<std::string>;

ClaimResult mutated(const std::string& assertion, const std::string& more = "") {
  CheckOptions options;
  options.mutate = true;
  return check_claims_text(claim_text(assertion, more), "test.toml", options).claims.front();
}

Texts survivors(const ClaimResult& claim) {
  Texts found;
  for (const MutantResult& mutant : claim.mutants)
    if (mutant.survived) found.insert(mutant.assertion);
  return found;
}

}  // namespace

TEST_CASE("a formula that is written back reads back to the same text and value") {
  for (const char* assertion :
       {"a*(b + c) - (d - e) == -f^(-1/2)", "(a^b)^c == a^(b^c)", "a/(b*c) == (a/b)/c",
        "-(a + b) == 2*(-a)", "E[relu'(z)^2] == 1/2", "x - -3 == 2.5e-3",
        "site(preset=\"mlp-relu\", path='a\"b').second < sum(k, 1, 2*N, 1/k)",
        "gain(tanh) ~= 1.590", "pi ~= 3.1415...", "slope(probe, layers=[2, 8]) == 0 within 2.5%"}) {
    INFO(assertion);
    const std::string once = assertion_text(parse_assertion(assertion, {}));
    CHECK(assertion_text(parse_assertion(once, {})) == once);
  }
  CHECK(assertion_text(parse_assertion("(a + b)*-c == a^-(1/2)", {})) ==
        "(a + b)*-c == a^(-(1/2))");
  CHECK(assertion_text(parse_assertion("gain(tanh) ~= 1.590", {})) == "gain(tanh) ~= 1.590");
  CHECK(number_text({-3, 8}) == "-0.375");
  CHECK(number_text({1, 3}) == "1/3");
  CHECK(number_text(1200) == "1200");
}

TEST_CASE("an exponent is changed by a quarter and by a half, both ways") {
  const Texts quarter = texts("gain(relu) == 2^(1/2)", Mutation::quarter);
  CHECK(quarter == Texts{"gain(relu) == 2^0.75", "gain(relu) == 2^0.25"});
  CHECK(texts("gain(relu) == 2^(1/2)", Mutation::half) ==
        Texts{"gain(relu) == 2^1", "gain(relu) == 2^0"});
  CHECK(texts("gain(relu) == sqrt(2)", Mutation::quarter) ==
        Texts{"gain(relu) == 2^0.75", "gain(relu) == 2^0.25"});
  CHECK(texts("gain(relu) == a^n", Mutation::quarter) ==
        Texts{"gain(relu) == a^(n + 0.25)", "gain(relu) == a^(n - 0.25)"});
  // The exponent of a name that has none is 1.
  CHECK(texts("gain(relu) == a", Mutation::half) ==
        Texts{"gain(relu) == a^1.5", "gain(relu) == a^0.5"});
}

TEST_CASE("the numbers of a slope are exponents themselves") {
  const std::string slope = "slope(probe, preset=\"mlp-relu\", layers=[2, 8])";
  CHECK(texts(slope + " == -0.5 within 0.35", Mutation::quarter) ==
        Texts{slope + " == -0.75 within 0.35", slope + " == -0.25 within 0.35"});
  CHECK(texts("s ~= 1.0", Mutation::half, "let = { s = '" + slope + "' }").count("s ~= 1.5") == 1);
}

TEST_CASE("a factor is a number by 2, or a side") {
  CHECK(texts("E[(3*z)^2] == 9*q", Mutation::factor) ==
        Texts{"E[(6*z)^2] == 9*q", "2*E[(3*z)^2] == 9*q", "E[(3*z)^2] == 18*q",
              "E[(3*z)^2] == 2*(9*q)"});
  CHECK(texts("gain(tanh) ~= 1.59", Mutation::factor) ==
        Texts{"2*gain(tanh) ~= 1.59", "gain(tanh) ~= 3.18"});
}

TEST_CASE("a sign is that of a side, of a sum and of an exponent") {
  CHECK(texts("gain(relu) == a + b^(-2)", Mutation::sign) ==
        Texts{"gain(relu) == a - b^(-2)", "gain(relu) == a + b^2", "gain(relu) == -(a + b^(-2))"});
}

TEST_CASE("a comparison is turned, and the denial of an equality dropped") {
  CHECK(texts("gain(relu) < 2", Mutation::turned) == Texts{"gain(relu) > 2"});
  CHECK(texts("gain(relu) >= 2", Mutation::turned, "fails = true") ==
        Texts{"not: gain(relu) <= 2"});
  CHECK(texts("gain(relu) == 2", Mutation::turned, "fails = true") == Texts{"gain(relu) == 2"});
  CHECK(texts("gain(relu) == 2", Mutation::turned).empty());
}

TEST_CASE("a denied tolerance is doubled, and nothing else of a denied equality changed") {
  const std::vector<Mutant> mutants =
      mutants_of(claim_of("gain(relu) == 2 within 10%", "fails = true"));
  CHECK(mutants.size() == 2);
  CHECK(texts("gain(relu) == 2 within 10%", Mutation::tolerance, "fails = true") ==
        Texts{"not: gain(relu) == 2 within 20%"});
  CHECK(texts("gain(relu) == 2 within 10%", Mutation::tolerance).empty());
}

TEST_CASE("what would say the same is no mutant, and what is only declared is left alone") {
  for (const Mutation kind : {Mutation::factor, Mutation::sign})
    CHECK(texts("E[z] == 0", kind).empty());
  CHECK(texts("gain(relu) == 1^2", Mutation::quarter).empty());
  // Arguments of the library, and the bracket in which a root is looked for.
  for (const Mutant& mutant :
       mutants_of(claim_of("softmax(32, 1).p2 == root(x, 1, 3, x^2 - 5)", "let = { q = '7' }"))) {
    CHECK(says(mutant.assertion.text, "softmax(32, 1)"));
    CHECK(says(mutant.assertion.text, "root(x, 1, 3, "));
  }
  Texts all;
  for (const Mutant& mutant : mutants_of(claim_of("q + q == 2*q"))) {
    CHECK(all.insert(mutant.assertion.text).second);
    CHECK(mutant.assertion.text != "q + q == 2*q");
  }
}

TEST_CASE("a sharp claim has no survivors, a wide band has") {
  CHECK(survivors(mutated("E[relu(z)^2] == q/2", "let = { z = 'normal(0, q)' }")).empty());
  CHECK(survivors(mutated("gain(tanh) ~= 1.5925")).empty());
  const ClaimResult wide = mutated("gain(tanh) == 1.6 within 60%");
  CHECK(survivors(wide) == Texts{"gain(tanh) == 3.2 within 60%"});
  CHECK(wide.survivors() == 1);
  // A sign is told by the first method, and nothing else is asked then.
  const auto sign = std::find_if(wide.mutants.begin(), wide.mutants.end(),
                                 [](const auto& m) { return m.mutation == "sign"; });
  REQUIRE(sign != wide.mutants.end());
  CHECK(sign->refuted_by == "quadrature");
}

TEST_CASE("a bound is tried from its own side alone") {
  CHECK(survivors(mutated("gain(tanh) < 2")).empty());
  CHECK(survivors(mutated("gain(tanh) < 4")) == Texts{"2*gain(tanh) < 4"});
  CHECK(survivors(mutated("gain(tanh) > 2", "fails = true")).empty());
  CHECK(survivors(mutated("gain(tanh) > 4", "fails = true")) == Texts{"not: 2*gain(tanh) > 4"});
  // gain(tanh) < 4 follows from gain(tanh) < 2, and is not reported at all.
  for (const MutantResult& mutant : mutated("gain(tanh) < 2").mutants)
    CHECK(mutant.assertion != "gain(tanh) < 4");
}

TEST_CASE("a mutant that is bad input does not survive") {
  const ClaimResult claim = mutated("iterate(x, 2, 1, 1/(x - 1)) == 1");
  const auto wrong = std::find_if(claim.mutants.begin(), claim.mutants.end(), [](const auto& m) {
    return m.refuted_by.starts_with("bad input: ");
  });
  CHECK(survivors(claim).empty());
  CHECK(wrong != claim.mutants.end());
}

TEST_CASE("a survivor needs a reason, and a reason a survivor") {
  const std::string wide = "gain(tanh) == 1.6 within 60%";
  const auto report = [&](const std::string& more) {
    CheckOptions options;
    options.mutate = true;
    return ClaimsReport{{check_claims_text(claim_text(wide, more), "test.toml", options)}};
  };
  CHECK_FALSE(report("").passed());
  CHECK(report("").surviving() == 1);
  const ClaimsReport explained = report("survives = { 'factor 2' = 'an order of magnitude' }");
  CHECK(explained.passed());
  CHECK(explained.unexplained() == 0);
  const ClaimsReport idle = report("survives = { 'factor 2' = 'so', 'sign' = 'and so' }");
  CHECK_FALSE(idle.passed());
  CHECK(idle.files[0].claims[0].unfounded == std::vector<std::string>{"sign"});
}

TEST_CASE("reasons and premises are checked as the file is read") {
  CHECK(says(complaint(claim_text("1 == 1", "survives = { 'factor 3' = 'x' }")),
             "unknown mutation 'factor 3' (test.toml:3:"));
  CHECK(says(complaint(claim_text("1 == 1", "survives = { 'factor 2' = ' ' }")),
             "survives without a reason"));
  CHECK(says(complaint("[[claim]]\nassert = ['1 == 1', '2 == 2']\nsurvives = { sign = 'x' }\n"),
             "survives beside several assertions"));
  const std::string two = "[[claim]]\nname = 'one'\nassert = ['1 == 1', '2 == 2']\n";
  const auto after = [&](const std::string& from) {
    return two + "[[claim]]\nname = 'two'\nassert = '3 == 3'\nfollows = [" + from + "]\n";
  };
  const ClaimsReport::File file = check_claims_text(after("'one'"), "test.toml");
  CHECK(file.claims[2].follows == std::vector<std::string>{"one"});
  CHECK(says(complaint(after("'on'")), "unknown claim further up 'on' (test.toml:7:12)"));
  CHECK(says(complaint(after("'two'")), "unknown claim further up 'two'"));
  CHECK(says(complaint(claim_text("1 == 1", "follows = ['x']")), "and there is none"));
  CHECK(says(complaint(two + after("'one'")), "follows names a claim that is there twice"));
}
