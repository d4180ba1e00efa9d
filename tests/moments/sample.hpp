#pragma once

#include <algorithm>
#include <cmath>

namespace scalecalc::testing {

/// A mean with its standard error.
struct Sample {
  double sum = 0, squares = 0;
  int count = 0;
  void add(double x) {
    sum += x;
    squares += x * x;
    ++count;
  }
  double mean() const { return sum / count; }
  double standard_error() const {
    return std::sqrt(std::max(squares / count - mean() * mean(), 0.0) / (count - 1));
  }
};

}  // namespace scalecalc::testing
