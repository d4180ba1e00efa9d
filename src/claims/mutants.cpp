#include <algorithm>

#include "claims/formula_text.hpp"
#include "claims/mutate.hpp"
#include "claims/networks.hpp"

namespace scalecalc::claims {
namespace {

/// The claim with another assertion and nothing of what was published.
Claim with_assertion(const Claim& claim, const Assertion& assertion, bool fails) {
  Claim changed = claim;
  changed.assertion = assertion;
  changed.fails = fails;
  changed.finding.clear();
  return changed;
}

/// Whether the smaller side stands on the left; a denied a < b is a >= b.
bool rises(const Claim& claim) {
  const Relation relation = claim.assertion.relation;
  return (relation == Relation::less || relation == Relation::at_most) != claim.fails;
}

std::string reason_for(const Claim& claim, const std::string& mutation) {
  for (const auto& [kind, reason] : claim.survives)
    if (kind == mutation) return reason;
  return {};
}

/// The method that speaks against the changed claim, or what makes it no claim at all.
std::string refutation(const Claim& changed, const CheckOptions& options, Networks& networks) {
  try {
    const ClaimResult result = decide(changed, options, networks, Until::refuted);
    if (result.holds) return {};
    for (const MethodResult& method : result.methods) {
      const bool holds = method.verdict == MethodResult::Verdict::holds;
      if (method.verdict != MethodResult::Verdict::open && holds == changed.fails)
        return to_string(method.method);
    }
    return "all methods";
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::fault) throw;
    return "bad input: " + error.message();
  }
}

}  // namespace

bool is_weaker(const Claim& claim, const Mutant& mutant, const CheckOptions& options,
               Networks& networks) {
  const bool order =
      claim.assertion.relation != Relation::equal && claim.assertion.relation != Relation::about;
  if (!order || mutant.side == Mutant::Side::none) return false;
  const bool left = mutant.side == Mutant::Side::left;
  const Node& before = left ? claim.assertion.left : claim.assertion.right;
  const Node& after = left ? mutant.assertion.left : mutant.assertion.right;
  const bool lower = left == rises(claim);
  Assertion beyond;
  beyond.left = lower ? after : before;
  beyond.right = lower ? before : after;
  beyond.relation = Relation::at_most;
  Claim implied = with_assertion(claim, beyond, false);
  implied.by = {ClaimMethod::quadrature};
  return refutation(implied, options, networks).empty();
}

std::vector<MutantResult> check_mutants(const Claim& claim, const CheckOptions& options,
                                        Networks& networks) {
  std::vector<MutantResult> results;
  for (const Mutant& mutant : mutants_of(claim)) {
    MutantResult result;
    result.mutation = to_string(mutant.mutation);
    result.assertion = (mutant.fails ? "not: " : "") + mutant.assertion.text;
    const Claim changed = with_assertion(claim, mutant.assertion, mutant.fails);
    result.refuted_by = refutation(changed, options, networks);
    result.survived = result.refuted_by.empty();
    if (result.survived) {
      if (is_weaker(claim, mutant, options, networks)) continue;
      result.reason = reason_for(claim, result.mutation);
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<std::string> unfounded_reasons(const Claim& claim,
                                           const std::vector<MutantResult>& mutants) {
  std::vector<std::string> names;
  for (const auto& [kind, reason] : claim.survives)
    if (std::none_of(mutants.begin(), mutants.end(), [&, name = kind](const MutantResult& mutant) {
          return mutant.survived && mutant.mutation == name;
        }))
      names.push_back(kind);
  return names;
}

}  // namespace scalecalc::claims
