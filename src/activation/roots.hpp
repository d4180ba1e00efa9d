#pragma once

#include <vector>

#include "activation/enclosure.hpp"

namespace scalecalc::activation_room {

/// A real root: exact for linear and quadratic expressions and simple functions of them, and where
/// it is a fraction; else a decimal of 60 digits.
struct Root {
  Expr where;
  double at;
};

/// More roots than any sensible activation has.
inline constexpr std::size_t most_roots = 64;

/// Every root of a smooth expression in x between low and high, rising; found by bounds over ranges
/// and bisection up to |x| = 2^64. Where the sign does not change, a place may be listed that is
/// only very close to a root. Throws Error(input) past 64 roots and where the search does not end.
std::vector<Root> real_roots(const Expr& expr, double low, double high);

/// Sorted, each once.
void sort_roots(std::vector<Root>& roots);

}  // namespace scalecalc::activation_room
