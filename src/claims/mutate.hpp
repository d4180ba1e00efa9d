#pragma once

#include <string>
#include <vector>

#include "claims/claim.hpp"
#include "scalecalc/claims.hpp"

/// Mutants of a claim: what it would say with one exponent, factor, sign or comparison changed. A
/// claim that is sharp is refuted when it is changed; a mutant that still holds has survived.
namespace scalecalc::claims {

enum class Mutation { quarter, half, factor, sign, turned, tolerance };
std::string to_string(Mutation mutation);
/// All of them, as they are named in reports and in the key `survives`.
const std::vector<std::string>& mutation_names();

struct Mutant {
  Mutation mutation = Mutation::factor;
  Assertion assertion;
  bool fails = false;  ///< as of the claim: whether the assertion is denied
  /// The side that was changed; of "turned" and "tolerance", none.
  enum class Side { none, left, right } side = Side::none;
};

/// Every mutant of the claim, without two that read alike.
std::vector<Mutant> mutants_of(const Claim& claim);

/// Whether a mutant of an inequality says less than the claim: its changed side lies beyond the
/// side that it replaces, so that it follows from the claim and could not be refuted.
bool is_weaker(const Claim& claim, const Mutant& mutant, const CheckOptions& options,
               Networks& networks);

/// The mutants of a claim that holds, each refuted or not, with the reasons of the claim.
std::vector<MutantResult> check_mutants(const Claim& claim, const CheckOptions& options,
                                        Networks& networks);
/// Mutations that the claim has a reason for, and of which no mutant survives.
std::vector<std::string> unfounded_reasons(const Claim& claim,
                                           const std::vector<MutantResult>& mutants);

}  // namespace scalecalc::claims
