#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "claims/sample.hpp"

/// Where a bound comes closest to being broken.
namespace scalecalc::claims {

/// How much room a bound has at a point, as a share of what it is made of: negative where it is
/// broken. Nothing where it has no value.
using Room = std::function<std::optional<double>(const Values&)>;

struct SearchLimits {
  int evaluations = 400;
  double finest = 1e-6;  ///< the last step, in logarithms of sizes
};
/// A pattern search from `start`: along each symbol and along each two of them together, in the
/// logarithms of sizes (of an interval: of the distances from its ends), halving the step where
/// nothing is less. Stops where the room is negative.
Values least_room(const std::vector<SymbolDomain>& symbols, const Values& start, const Room& room,
                  const SearchLimits& limits);

/// The point with the values of these symbols replaced by the nearest short decimals, then by the
/// nearest fractions of small denominators: bounds that are touched are touched there.
std::vector<Values> simple_neighbours(const std::vector<SymbolDomain>& symbols, const Values& at);

}  // namespace scalecalc::claims
