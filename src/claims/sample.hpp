#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "claims/scope.hpp"

/// Where a claim about free symbols is tried.
namespace scalecalc::claims {

using SymbolDomain = std::pair<std::string, Domain>;
using Values = std::map<std::string, Rational>;

struct Sample {
  Values at;
  /// Of ordinary size: what fails to have a value here is an error of the claim. Farther out, and
  /// where symbols coincide, such a point says nothing.
  bool ordinary = true;
};

/// How many points of each sort, for that many symbols.
struct SampleCounts {
  int ordinary = 0;  ///< from 1/8 to 8 in size, or anywhere within an interval
  int wide = 0;      ///< from 1e-4 to 1e4, or near the ends of an interval
  int edges = 0;     ///< per symbol: 0, 1, 1e-12 to 1e12, both signs, 1e-12 from the ends
  int corners = 0;   ///< every symbol at an edge, and symbols that have the same value
  std::int64_t largest_integer = 1000000000;
  bool farthest = false;  ///< edges beyond 1000 too, where each point is cheap
};

/// Each symbol has its own stratified order, so that no two of them run together; the same seed
/// gives the same points.
std::vector<Sample> sample_points(const std::vector<SymbolDomain>& symbols,
                                  const SampleCounts& counts, std::uint64_t seed);

/// As it is where that is short, else six digits.
std::string short_text(const Rational& value);
/// "a = 0.25, n = 3".
std::string to_string(const Values& at);
Bindings in_double(const Values& at);

}  // namespace scalecalc::claims
