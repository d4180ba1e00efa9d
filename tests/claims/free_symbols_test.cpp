#include <algorithm>
#include <set>
#include <vector>

#include "claims/library.hpp"
#include "support.hpp"

namespace scalecalc::test {
namespace {

/// A call whose value is a formula in symbols, that formula, and a symbol of it.
struct FormulaCall {
  std::string function, call, formula, symbol;
  bool whole = false;  ///< a number of layers
};

const std::vector<FormulaCall>& formula_calls() {
  static const std::vector<FormulaCall> calls = {
      {"transfer", "transfer(mup, optimizer=adam, axes=\"width\").lr", "1/r_n", "r_n"},
      {"transfer", "transfer(standard, optimizer=sgd, axes=\"width\").lr", "r_n^(-1/2)", "r_n"},
      {"transfer", "transfer(ntk, optimizer=adam, axes=\"width\").multiplier", "r_n^(-1/2)", "r_n"},
      {"transfer", "transfer(mup, optimizer=adam, axes=\"width\").std", "r_n^(-1/2)", "r_n"},
      {"transfer", "transfer(mup, optimizer=adamw, axes=\"width\").decay", "r_n", "r_n"},
      {"transfer", "transfer(mup, optimizer=adamw, axes=\"width\").eps", "1/r_n", "r_n"},
      {"transfer", "transfer(mup, optimizer=adamw, axes=\"batch\").one_minus_beta", "r_B", "r_B"},
      {"transfer", "transfer(mup, optimizer=sgd, axes=\"width\").gradient", "1/r_n", "r_n"},
      {"transfer", "transfer(\"complete-p\", axes=\"depth\").branch", "1/r_L", "r_L"},
      {"transfer", "transfer(mup, preset=\"pre-ln-12\", axes=\"width\").attention", "1/r_n", "r_n"},
      {"deepnorm", "deepnorm(layers=N, optimizer=adam).alpha", "(2*N)^(1/2)", "N", true},
      {"deepnorm", "deepnorm(layers=8, optimizer=adam).equation", "16*lambda/alpha", "lambda"},
      {"deepnet", "deepnet(encoder, N).alpha", "(2*N)^(1/4)", "N"},
      {"step_size", "step_size(sgd, g, theta)", "g", "g"},
      {"law", "law(\"identity_weight\", preset=\"post-ln-12\", l=l)",
       "law(\"identity_weight\", preset=\"post-ln-12\", l=1)^l", "l"},
  };
  return calls;
}

/// Functions whose formulas have no symbol that the call does not give.
const std::set<std::string>& constant_functions() {
  static const std::set<std::string> names = {"framework", "family", "same"};
  return names;
}

std::string quoted(const std::string& formula) {
  return "'" + formula + "'";
}

/// What a claim may have beside its sides.
std::vector<std::string> surroundings(const std::string& symbol, bool whole) {
  const std::string integer = "let = { " + symbol + " = \"integer\" }";
  std::vector<std::string> list = {integer,
                                   integer + "\nby = [\"quadrature\"]",
                                   integer + "\nby = [\"symbolic\", \"quadrature\"]",
                                   "let = { " + symbol + " = \"3\" }",
                                   "for = { " + symbol + " = [2, 3, 64] }",
                                   integer + "\nby = [\"symbolic\"]"};
  if (whole) return list;
  for (const std::string& more :
       {std::string(), "let = { " + symbol + " = \"positive\" }",
        "let = { " + symbol + " = \"in (1/2, 8)\" }",
        "let = { m = \"positive\", " + symbol + " = \"m + 1\" }",
        "for = { " + symbol + " = [\"1/3\", 4] }", std::string("by = [\"symbolic\"]"),
        std::string("by = [\"quadrature\"]")})
    list.push_back(more);
  return list;
}

void check_holds(const std::string& toml) {
  CAPTURE(toml);
  const ClaimsReport::File file = check_claims_text(toml, "test.toml");
  REQUIRE(file.claims.size() == 1);
  CHECK(file.claims.front().holds);
}

/// Without `fails` and `finding`, each of these holds.
std::vector<std::string> claims_of(const FormulaCall& of) {
  const std::string& f = of.formula;
  return {"assert = " + quoted(of.call + " == " + f),
          "assert = " + quoted("(" + f + ")/" + of.call + " == 1"),
          "assert = " + quoted(of.call + " < 2*(" + f + ")"),
          "assert = " + quoted(of.call + " >= (" + f + ")/2"),
          "assert = " + quoted(of.call + " == " + f + " within 1%"),
          "assert = " + quoted("sum(k, 1, 3, k*" + of.call + ") == 6*(" + f + ")"),
          "fails = true\nassert = " + quoted(of.call + " == 2*(" + f + ")"),
          "finding = \"right\"\npublished = " + quoted(f) + "\ntruth = " + quoted(of.call),
          "finding = \"right\"\npublished = " + quoted(of.call) + "\ntruth = " + quoted(f),
          "finding = \"wrong\"\npublished = " + quoted("2*(" + f + ")") +
              "\ntruth = " + quoted(of.call),
          "finding = \"approximation\"\nwithin = \"5%\"\npublished = " +
              quoted("1.01*(" + f + ")") + "\ntruth = " + quoted(of.call)};
}

TEST_CASE("a formula with free symbols is decided in every form of claim") {
  for (const FormulaCall& of : formula_calls()) {
    // A network is built at every point: one of each, where the others have all combinations.
    const bool dear = of.call.find("preset") != std::string::npos;
    const std::vector<std::string> claims = claims_of(of);
    const std::vector<std::string> besides = surroundings(of.symbol, of.whole || dear);
    for (std::size_t k = 0; k < claims.size(); ++k)
      for (std::size_t b = 0; b < besides.size(); ++b)
        if (!dear || b == k % besides.size())
          check_holds("[[claim]]\n" + claims[k] + "\n" + besides[b] + "\n");
  }
}

TEST_CASE("values of the claim reach the symbols of a function's formula") {
  const std::string call = "transfer(mup, optimizer=adam, axes=\"width\").lr";
  CHECK(check_one(call + " == 1/4", "let = { r_n = \"4\" }").holds);
  CHECK(check_one(call + " ~= 0.25", "for = { r_n = [4] }").holds);
  CHECK(check_one("sum(r_n, 1, 3, " + call + ") == 11/6").holds);
  CHECK(check_one("largest(r_n, 1, 4, " + call + ") == 1 within 0.0001%").holds);
  CHECK_FALSE(check_one(call + " == 1/3", "let = { r_n = \"4\" }").holds);
  const ClaimResult found = check_claims_text("[[claim]]\npublished = '2/r_n'\ntruth = '" + call +
                                                  "'\nfinding = \"wrong\"\nfor = { r_n = [4] }\n",
                                              "test.toml")
                                .claims.front();
  REQUIRE(found.finding);
  REQUIRE(found.finding->off);
  CHECK(*found.finding->off == 1.0);
}

TEST_CASE("every function that returns a formula is among those with symbols, or has none") {
  for (const std::string& name : claims::library_names()) {
    if (claims::library_function(name)->is_number) continue;
    CAPTURE(name);
    const bool listed = std::any_of(formula_calls().begin(), formula_calls().end(),
                                    [&](const FormulaCall& of) { return of.function == name; });
    CHECK(listed != constant_functions().contains(name));
  }
  for (const std::string& member : claims::library_function("transfer")->members) {
    CAPTURE(member);
    CHECK(std::any_of(formula_calls().begin(), formula_calls().end(), [&](const FormulaCall& of) {
      return of.function == "transfer" && of.call.ends_with("." + member);
    }));
  }
}

}  // namespace
}  // namespace scalecalc::test
