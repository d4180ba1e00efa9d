#include <filesystem>

#include "base/text_file.hpp"
#include "claims/library.hpp"
#include "claims/mutate.hpp"
#include "claims/networks.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::claims;

namespace {

const std::string tables = std::string(SCALECALC_TABLES_DIR) + "/claims";

bool is_published(const std::string& path) {
  return path.find("published") != std::string::npos;
}

/// An expectation, or a function of the library: rules, gains, sampled and measured networks.
bool is_grounded(const Node& node) {
  if (mentions(node, "E")) return true;
  for (const std::string& name : library_names())
    if (mentions(node, name)) return true;
  return false;
}

bool is_grounded(const Claim& claim) {
  if (is_grounded(claim.assertion.left) || is_grounded(claim.assertion.right)) return true;
  for (const Declaration& declaration : claim.let)
    if (declaration.kind == Declaration::Kind::value && is_grounded(declaration.value)) return true;
  return false;
}

}  // namespace

// All of them: scalecalc check tables/claims --mutate, which the tests of the program run.
TEST_CASE("of every fifth claim of tables/claims no mutant survives without a reason") {
  constexpr std::size_t step = 5;
  CheckOptions options;
  options.threads = 2;
  std::size_t number = 0, mutants = 0, surviving = 0, checked = 0;
  for (const std::string& path : claim_files({tables})) {
    const ClaimFile file = read_claims(base::read_text_file(path, "claim file"), path);
    Networks networks(std::filesystem::path(path).parent_path().string());
    for (const Claim& claim : file.claims) {
      if (++number % step != 0) continue;
      INFO(path << ": " << claim.name);
      const std::vector<MutantResult> found = check_mutants(claim, options, networks);
      bool survives = false;
      for (const MutantResult& mutant : found) {
        INFO(mutant.mutation << ": " << mutant.assertion);
        const bool explained = !mutant.survived || !mutant.reason.empty();
        CHECK(explained);
        survives = survives || mutant.survived;
      }
      CHECK(unfounded_reasons(claim, found).empty());
      mutants += found.size();
      surviving += survives ? 1 : 0;
      ++checked;
    }
  }
  CHECK(checked > 100);
  CHECK(mutants > 5 * checked);
  // 3% of all; of a fifth of them a few more by chance: 3 standard deviations of a binomial.
  CHECK(surviving <= 3 + 6);
}

TEST_CASE("every claim of a topic touches a rule, an expectation or a network") {
  std::size_t count = 0;
  for (const std::string& path : claim_files({tables})) {
    if (is_published(path)) continue;
    for (const Claim& claim : read_claims(base::read_text_file(path, "claim file"), path).claims) {
      INFO(path << ": " << claim.assertion.text);
      CHECK(is_grounded(claim));
      ++count;
    }
  }
  CHECK(count > 340);
}

TEST_CASE("real passes stand behind forty claims and more") {
  std::size_t count = 0;
  for (const std::string& path : claim_files({tables}))
    for (const Claim& claim : read_claims(base::read_text_file(path, "claim file"), path).claims)
      for (const ClaimMethod method : claim.by) count += method == ClaimMethod::passes ? 1 : 0;
  CHECK(count >= 40);
}
