#pragma once

#include <cmath>
#include <limits>
#include <string_view>

#include "gaussian/closed_form/program.hpp"

/// Elementary operations on numbers with error bounds. Functions of the C library count as good to
/// `library` roundings.
namespace scalecalc::gaussian {

/// Half of the spacing of long double at 1.
inline constexpr long double unit = std::numeric_limits<long double>::epsilon() / 2;

/// value with a relative error of so many roundings beside the absolute one.
inline Bounded rounded(long double value, long double error, long double roundings = 1) {
  return {value, error * (1 + 4 * unit) + std::fabs(value) * roundings * unit};
}

inline Bounded sum(const Bounded& a, const Bounded& b) {
  return rounded(a.value + b.value, a.error + b.error);
}
inline Bounded product(const Bounded& a, const Bounded& b) {
  return rounded(a.value * b.value,
                 std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error);
}
Bounded inverse(const Bounded& x);
Bounded root(const Bounded& x);
Bounded power(const Bounded& x, int exponent);
Bounded power(const Bounded& x, const Bounded& exponent);

using BoundedFunction = Bounded (*)(const Bounded* arguments);
/// Null for a function without a bound, whose value then comes from intervals.
BoundedFunction bounded_function(std::string_view name);

}  // namespace scalecalc::gaussian
