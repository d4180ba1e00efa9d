#include <doctest/doctest.h>

#include <set>

#include "scalecalc/claims.hpp"

using namespace scalecalc;

TEST_CASE("every topic is a claim file with statements") {
  std::set<std::string> names;
  for (const Topic& entry : topics()) {
    CAPTURE(entry.name);
    CHECK(names.insert(entry.name).second);
    const ClaimsReport::File file = read_claims_text(entry.toml, entry.name);
    CHECK(file.title == entry.title);
    CHECK_FALSE(file.claims.empty());
    for (const ClaimResult& claim : file.claims) {
      CHECK_FALSE(claim.name.empty());
      CHECK_FALSE(claim.assertion.empty());
      CHECK(claim.methods.empty());
    }
  }
  CHECK(names.count("pre-norm") == 1);
  CHECK(names.size() >= 15);
}

TEST_CASE("a topic is decided with the models that are built in beside it") {
  const ClaimsReport::File file = check_topic(topic("warm-up"));
  CHECK_FALSE(file.claims.empty());
  bool from_model = false;
  for (const ClaimResult& claim : file.claims) {
    CAPTURE(claim.name);
    CHECK(claim.holds);
    CHECK_FALSE(claim.methods.empty());
    from_model = from_model || claim.assertion.find("block.model") != std::string::npos;
  }
  CHECK(from_model);
}

TEST_CASE("an unknown topic names the nearest") {
  try {
    topic("norm", "explain");
    FAIL("found");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("did you mean 'norms'") != std::string::npos);
  }
}
