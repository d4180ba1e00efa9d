#pragma once

#include <vector>

#include "claims/sides.hpp"

/// A claim by numbers: quadrature, samples or passes.
namespace scalecalc::claims {

class Networks;

/// Numbers for what needs one: the free symbols that are met, and where they are tried.
class NumericTrial {
 public:
  NumericTrial(const Claim& claim, const CheckOptions& options, Networks& networks)
      : claim_(claim), options_(options), networks_(networks) {}

  /// The verdict at every combination of `for` and at points of the free symbols; `witnesses` are
  /// points at which another method saw the claim fail. Throws PlacedError, NotApplicable.
  MethodResult run(ClaimMethod method, const std::vector<Values>& witnesses);

  /// Published over true, where it is farthest from 1.
  Finding compare_published(ClaimMethod method);

 private:
  const Claim& claim_;
  const CheckOptions& options_;
  Networks& networks_;
  std::vector<SymbolDomain> free_;  ///< those met so far
};

}  // namespace scalecalc::claims
