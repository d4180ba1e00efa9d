#pragma once

#include <string>
#include <utility>
#include <vector>

#include "claims/language.hpp"
#include "claims/scope.hpp"
#include "scalecalc/claims.hpp"

/// A claim as its file has it.
namespace scalecalc::claims {

class Networks;

struct Claim {
  std::string name, condition, note, source;
  Assertion assertion;
  Place place;  ///< of the assertion
  std::vector<Declaration> let;
  std::vector<std::pair<std::string, std::vector<Expr>>> grid;  ///< `for`
  std::vector<ClaimMethod> by;                                  ///< empty: those that apply
  bool fails = false;
  /// Of published claims: right, approximation or wrong, and both formulas.
  std::string finding, published_text, truth_text;
  Node published, truth;
  /// Mutations that it does not refute, each with the reason.
  std::vector<std::pair<std::string, std::string>> survives;
  /// Names of claims further up in the file that it follows from.
  std::vector<std::string> follows;
};

struct ClaimFile {
  std::string title;
  std::vector<Claim> claims;
};
/// Throws Error(input) at file:line:column.
ClaimFile read_claims(std::string_view toml, const std::string& name);

/// Decides all of them; `name` is the file's in messages.
ClaimsReport::File check_file(const ClaimFile& file, const std::string& name, Networks networks,
                              const CheckOptions& options);

/// What the file says of a claim, and nothing found yet.
ClaimResult undecided(const Claim& claim);

/// Decides one claim by its methods, all of them or up to the first that speaks against it. Throws
/// PlacedError.
enum class Until { all, refuted };
ClaimResult decide(const Claim& claim, const CheckOptions& options, Networks& networks,
                   Until until = Until::all);

}  // namespace scalecalc::claims
