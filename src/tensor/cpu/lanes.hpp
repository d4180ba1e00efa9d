#pragma once

#include <array>
#include <cstdint>

namespace scalecalc::tensor {

/// sum of term(i) for i in begin .. end; eight running sums, in an order that no compiler flag
/// changes.
template <class Term>
double sum_in_lanes(std::int64_t begin, std::int64_t end, const Term& term) {
  constexpr std::int64_t kLanes = 8;
  std::array<double, kLanes> sums{};
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += term(i + lane);
  }
  double sum = 0.0;
  for (; i < end; ++i) sum += term(i);
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace scalecalc::tensor
