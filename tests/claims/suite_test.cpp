#include <set>

#include "base/text_file.hpp"
#include "claims/claim.hpp"
#include "claims/networks.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::test;
using claims::Claim;
using claims::Declaration;
using claims::Domain;
using claims::Node;
using Verdict = MethodResult::Verdict;

namespace {

std::vector<Claim> claims_of(const std::string& name) {
  const std::string path = std::string(SCALECALC_CLAIM_SUITE_DIR) + "/" + name;
  return claims::read_claims(base::read_text_file(path, "claim file"), path).claims;
}

/// Samples are no help to a claim that is false: quadrature and formulas have to see it.
ClaimResult decided(const Claim& claim, std::int64_t samples) {
  CheckOptions options;
  options.samples = samples;
  claims::Networks networks("");
  return claims::decide(claim, options, networks);
}

std::string found_in(const ClaimResult& result) {
  std::string text;
  for (const MethodResult& method : result.methods)
    text += to_string(method.method) + ": " + method.how + " (" + method.point + "); ";
  return text;
}

/// A method that is certain refutes it.
void check_refuted(const Claim& claim) {
  INFO(claim.assertion.text);
  ClaimResult result;
  REQUIRE_NOTHROW(result = decided(claim, 4096));
  INFO(found_in(result));
  CHECK_FALSE(result.holds);
  bool refuted = false;
  for (const MethodResult& method : result.methods) {
    const bool certain = method.method != ClaimMethod::montecarlo;
    refuted = refuted || (certain && method.verdict == Verdict::fails);
  }
  CHECK(refuted);
}

void check_true(std::size_t part, std::size_t parts) {
  const std::vector<Claim> all = claims_of("true.toml");
  CHECK(all.size() >= 190);
  for (std::size_t k = part; k < all.size(); k += parts) {
    INFO(all[k].assertion.text);
    ClaimResult result;
    REQUIRE_NOTHROW(result = decided(all[k], 1 << 16));
    INFO(found_in(result));
    CHECK(result.holds);
    bool proved = false;
    int points = 0;
    for (const MethodResult& method : result.methods) {
      proved = proved || method.proved;
      points = std::max(points, method.points);
      CHECK((method.proved || method.how.find("proved") == std::string::npos));
    }
    const std::string expected =
        proved ? "proved" : "checked at " + std::to_string(points) + " points";
    CHECK(verdict_of(result) == expected);
    CHECK((proved || points >= 9));
  }
}

void collect_names(const Node& node, std::set<std::string>& names) {
  if (node.kind == Node::Kind::name) names.insert(node.text);
  for (const Node& child : node.children) collect_names(child, names);
}

/// The free symbols of a claim and what they may be.
std::vector<std::pair<std::string, Domain>> symbols_of(const Claim& claim) {
  std::set<std::string> names, taken{"pi", "k"};
  collect_names(claim.assertion.left, names);
  collect_names(claim.assertion.right, names);
  std::map<std::string, Domain> declared;
  for (const Declaration& declaration : claim.let) {
    for (const Node& parameter : declaration.parameters) collect_names(parameter, names);
    for (const std::string& name : declaration.names) {
      if (declaration.kind == Declaration::Kind::domain)
        declared[name] = declaration.domain;
      else
        taken.insert(name);
    }
  }
  std::vector<std::pair<std::string, Domain>> result;
  for (const std::string& name : names)
    if (!taken.contains(name)) result.emplace_back(name, declared[name]);
  return result;
}

/// Errors that vanish on a part of the domain, or nearly: each is another one somewhere else.
std::vector<std::string> errors_in(const std::string& s, const Domain& domain) {
  switch (domain.kind) {
    case Domain::Kind::positive:
      return {"(" + s + " - 1)/10^6", "sin(pi*" + s + ")^2/10^6", "relu(" + s + " - 100)",
              "relu(1/1000 - " + s + ")"};
    case Domain::Kind::real:
      return {"relu(" + s + ")/10^6", "relu(-" + s + ")/10^6", "sin(pi*" + s + ")^2/10^6",
              "relu(" + s + " - 100)"};
    case Domain::Kind::integer:
      return {"(" + s + " - 1)/10^6", "sin(pi*" + s + "/2)^2/10^6", "relu(" + s + " - 50)"};
    case Domain::Kind::interval: break;
  }
  return {s + "^2/10^6", "relu(-" + s + ")/10^3 + relu(" + s + " - 9/10)/10^3"};
}

/// A true equality with an error added to its right side.
std::vector<Claim> mutants_of(const Claim& claim, std::size_t most) {
  const std::string& text = claim.assertion.text;
  const auto symbols = symbols_of(claim);
  std::vector<std::string> wrong;
  if (claim.assertion.within || symbols.empty()) return {};
  if (claim.assertion.relation != claims::Relation::equal) {
    const std::size_t at = text.find_first_of("<>");
    std::string turned = text;
    if (text[at + 1] == '=')
      turned.replace(at, 2, text[at] == '<' ? ">" : "<");
    else
      turned.replace(at, 1, text[at] == '<' ? ">=" : "<=");
    wrong = {turned};
  } else {
    const std::size_t at = text.find(" == ");
    const std::string right = text.substr(at + 4), left = text.substr(0, at);
    if (right != "0") wrong.push_back(left + " == (" + right + ")*(1 + 10^(-6))");
    for (std::size_t a = 0; a < symbols.size(); ++a) {
      for (std::size_t b = a + 1; b < symbols.size(); ++b)
        if (symbols[a].second.kind == symbols[b].second.kind)
          wrong.push_back(text + " + (" + symbols[a].first + " - " + symbols[b].first + ")^2/10^6");
      for (const std::string& error : errors_in(symbols[a].first, symbols[a].second))
        wrong.push_back(text + " + " + error);
    }
  }
  // Those of expensive claims are taken in turn.
  std::vector<Claim> mutants;
  const std::size_t first = std::hash<std::string>{}(text) % wrong.size();
  for (std::size_t k = 0; k < std::min(most, wrong.size()); ++k) {
    mutants.push_back(claim);
    mutants.back().assertion =
        claims::parse_assertion(wrong[(first + k) % wrong.size()], claim.place);
  }
  return mutants;
}

std::size_t check_mutants(bool of_expectations, std::size_t most, std::size_t part,
                          std::size_t parts) {
  std::size_t count = 0, at = 0;
  for (const Claim& claim : claims_of("true.toml")) {
    const bool has = claims::mentions(claim.assertion.left, "E");
    if (has != of_expectations || at++ % parts != part) continue;
    for (const Claim& mutant : mutants_of(claim, most)) {
      check_refuted(mutant);
      ++count;
    }
  }
  return count;
}

void check_false(std::size_t part, std::size_t parts) {
  const std::vector<Claim> all = claims_of("false.toml");
  CHECK(all.size() >= 270);
  for (std::size_t k = part; k < all.size(); k += parts) check_refuted(all[k]);
}

}  // namespace

TEST_CASE("true claims in one to four symbols hold, and say by what (1 of 3)") {
  check_true(0, 3);
}
TEST_CASE("true claims in one to four symbols hold, and say by what (2 of 3)") {
  check_true(1, 3);
}
TEST_CASE("true claims in one to four symbols hold, and say by what (3 of 3)") {
  check_true(2, 3);
}
TEST_CASE("claims that are false, or false somewhere, do not hold (1 of 2)") {
  check_false(0, 2);
}
TEST_CASE("claims that are false, or false somewhere, do not hold (2 of 2)") {
  check_false(1, 2);
}
TEST_CASE("a true formula with an error on a part of its domain does not hold") {
  CHECK(check_mutants(false, 100, 0, 1) >= 300);
}
TEST_CASE("a true expectation with an error on a part of its domain does not hold (1 of 2)") {
  CHECK(check_mutants(true, 3, 0, 2) >= 85);
}
TEST_CASE("a true expectation with an error on a part of its domain does not hold (2 of 2)") {
  CHECK(check_mutants(true, 3, 1, 2) >= 85);
}
