#pragma once

#include <limits>
#include <string_view>

#include "gaussian/closed_form/program.hpp"

/// Elementary operations on numbers with error bounds. Functions of the C library count as good to
/// `library` roundings.
namespace scalecalc::calculus {

/// Half of the spacing of long double at 1.
inline constexpr long double unit = std::numeric_limits<long double>::epsilon() / 2;

Bounded sum(const Bounded& a, const Bounded& b);
Bounded product(const Bounded& a, const Bounded& b);
Bounded inverse(const Bounded& x);
Bounded root(const Bounded& x);
Bounded power(const Bounded& x, int exponent);
Bounded power(const Bounded& x, const Bounded& exponent);

using BoundedFunction = Bounded (*)(const Bounded* arguments);
/// Null for a function without a bound, whose value then comes from intervals.
BoundedFunction bounded_function(std::string_view name);

}  // namespace scalecalc::calculus
