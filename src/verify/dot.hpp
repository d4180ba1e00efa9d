#pragma once

#include <array>
#include <cstdint>

namespace scalecalc {

/// sum_i a_i b_i in double; eight running sums, in an order that no compiler flag changes.
template <class Real>
double dot(const Real* a, const Real* b, std::int64_t size) {
  constexpr std::int64_t lanes = 8;
  std::array<double, lanes> sums{};
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
  double sum = 0;
  for (; i < size; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace scalecalc
