#pragma once

#include <map>
#include <string>
#include <vector>

#include "claims/claim.hpp"
#include "claims/engine.hpp"
#include "claims/sample.hpp"

namespace scalecalc::claims {

/// Both sides of an assertion, where `for` and the symbols that need a number have these values.
struct Sides {
  Expr left, right;
  std::map<std::string, Domain> domains;
};
/// Throws PlacedError, NotApplicable, Unbound.
Sides sides_at(const Claim& claim, const std::map<std::string, Expr>& values, Engine& engine);

/// Every combination of the values of `for`; one empty one without any.
std::vector<std::map<std::string, Expr>> grid_of(const Claim& claim);
/// "q = 1/4, N = 12".
std::string point_text(const std::map<std::string, Expr>& values);

/// Whether a formula of the claim, or of a name in its `let`, is of that sort.
bool uses(const Claim& claim, bool (*what)(const Node&));
/// It has a moment of a network, which passes can measure.
bool is_of_network(const Node& node);
/// It has whatever the moments of a network give: known to 1e-9, and each takes its time.
bool has_moments(const Node& node);

}  // namespace scalecalc::claims
