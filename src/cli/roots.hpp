#pragma once

#include <algorithm>
#include <cmath>

#include "scalecalc/report.hpp"
#include "scalecalc/trace.hpp"

namespace scalecalc::cli {

/// Of a figure of a square, the root and what the root may be off by: null where nobody knows.
inline double root_of(const Figure& square) {
  return std::sqrt(std::max(square.value, 0.0));
}
inline report::Value error_of_root(const Figure& square, NonNegative Figure::*part) {
  const double error = square.*part, value = root_of(square);
  if (error == 0) return 0.0;
  if (!std::isfinite(error)) return {};
  return value > 0 ? error / (2 * value) : std::sqrt(error);
}

}  // namespace scalecalc::cli
