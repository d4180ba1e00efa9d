#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

/// How far apart two numbers of a test may be, computed from where the difference comes from.
namespace scalecalc::testing {

/// Relative error of that many operations in Real, each rounded to a neighbour at the worst.
template <class Real = double>
constexpr double rounding(double operations) {
  return operations * static_cast<double>(std::numeric_limits<Real>::epsilon());
}

/// Equal but for that many roundings, relative to the value; beside summands of size `magnitude`
/// that cancel, relative to both. Of a value that is 0 it takes a magnitude.
inline doctest::Approx rounded(double value, double operations, double magnitude = 0) {
  return doctest::Approx(value).epsilon(rounding(operations)).scale(magnitude);
}

/// Equal but for an absolute error that is known: one that a number states, a truncation, a bound.
inline doctest::Approx within(double value, double error) {
  const double size = std::max(std::fabs(value), std::numeric_limits<double>::min());
  return doctest::Approx(value).epsilon(error / size).scale(0);
}

/// A number as it is printed: within half a unit of its last digit, and its own rounding.
inline doctest::Approx printed(double value, double half_unit) {
  return within(value, half_unit + rounding(1) * std::fabs(value));
}

}  // namespace scalecalc::testing
