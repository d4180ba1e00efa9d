#pragma once

#include <cmath>
#include <vector>

namespace scalecalc::train_room {

/// NaN of none.
inline double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Of the mean; NaN for fewer than two.
inline double standard_error(const std::vector<double>& values) {
  const double centre = mean(values), count = static_cast<double>(values.size());
  double square = 0.0;
  for (const double value : values) square += (value - centre) * (value - centre);
  return std::sqrt(square / (count - 1.0) / count);
}

}  // namespace scalecalc::train_room
