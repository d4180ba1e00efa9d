#pragma once

#include <cstdint>

#include "base/host_device.hpp"
#include "tensor/device.hpp"

/// Rotary positions, entry by entry.
namespace scalecalc::tensor {

/// At a position each head has so many columns of work: a pair that turns, or a feature that stays.
SCALECALC_HOST_DEVICE inline std::int64_t rotary_columns(const RotaryShape& s) {
  return s.head_width - s.width / 2;
}

/// One column of one position, in all heads of all sequences; write(index, value) for each entry.
/// `direction` is 1, or -1 to turn back.
template <class Real, class Write>
SCALECALC_HOST_DEVICE void turn_column(const RotaryShape& s, const Real* turns, Real direction,
                                       std::int64_t position, std::int64_t column, const Real* x,
                                       const Write& write) {
  const std::int64_t half = s.width / 2, second = column + half;
  const bool stays = column >= half;
  const Real* row = turns + position * s.width;
  const Real cosine = stays ? Real(1) : row[column],
             sine = stays ? Real(0) : direction * row[second];
  for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
    for (std::int64_t head = 0; head < s.heads; ++head) {
      const std::int64_t first = ((sequence * s.tokens + position) * s.heads + head) * s.head_width;
      const Real b = x[first + second];
      if (stays) {
        write(first + second, b);
        continue;
      }
      const Real a = x[first + column];
      write(first + column, cosine * a - sine * b);
      write(first + second, sine * a + cosine * b);
    }
  }
}

}  // namespace scalecalc::tensor
