#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "support.hpp"

namespace scalecalc::tensor {

/// Largest entry of |A^T A - scale I| (A A^T when there are fewer rows than columns).
inline double departure(const Vector& a, std::size_t rows, std::size_t columns, double scale) {
  const bool tall = rows >= columns;
  const std::size_t thin = tall ? columns : rows, length = tall ? rows : columns;
  const auto entry = [&](std::size_t i, std::size_t j) {
    return tall ? a[i * columns + j] : a[j * columns + i];
  };
  double worst = 0.0;
  for (std::size_t i = 0; i < thin; ++i) {
    for (std::size_t j = 0; j < thin; ++j) {
      double sum = i == j ? -scale : 0.0;
      for (std::size_t t = 0; t < length; ++t) sum += entry(t, i) * entry(t, j);
      worst = std::max(worst, std::fabs(sum));
    }
  }
  return worst;
}

}  // namespace scalecalc::tensor
