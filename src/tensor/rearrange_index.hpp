#pragma once

#include <cstdint>

#include "base/host_device.hpp"
#include "tensor/device.hpp"

/// Which entry each entry of what is rearranged is copied from, or gathers.
namespace scalecalc::tensor {

/// Of row `row` (tap, channel of a group that leaves) and column `in` of the mirrored kernel: its
/// entry in the kernel of a transposed convolution.
SCALECALC_HOST_DEVICE inline std::int64_t mirrored_entry(const ConvShape& s, std::int64_t row,
                                                         std::int64_t in) {
  const std::int64_t tap = row / s.group_out(), out = row % s.group_out();
  const std::int64_t group = in / s.group_in(), channel = in % s.group_in();
  return (tap * s.group_in() + channel) * s.out_channels + group * s.group_out() + out;
}

/// The input row that output row `row` is a copy of.
SCALECALC_HOST_DEVICE inline std::int64_t copied_row(const UpsampleShape& s, std::int64_t row) {
  const std::int64_t image = row / s.out_positions(), at = row % s.out_positions();
  const std::int64_t across = s.factor * s.width;
  return (image * s.height + at / across / s.factor) * s.width + at % across / s.factor;
}

/// The first of the output rows that are copies of input row `row`; the others are up to `factor`
/// rows and columns of the image away.
SCALECALC_HOST_DEVICE inline std::int64_t first_copy(const UpsampleShape& s, std::int64_t row) {
  const std::int64_t image = row / s.positions(), at = row % s.positions();
  const std::int64_t across = s.factor * s.width;
  return image * s.out_positions() + s.factor * (at / s.width) * across + s.factor * (at % s.width);
}

/// The gradient of entry `channel` of input row `row`: the sum over its copies.
template <class Real>
SCALECALC_HOST_DEVICE Real sum_of_copies(const UpsampleShape& s, std::int64_t row,
                                         std::int64_t channel, const Real* dy) {
  const std::int64_t first = first_copy(s, row), across = s.factor * s.width;
  Real sum = 0;
  for (std::int64_t v = 0; v < s.factor; ++v)
    for (std::int64_t u = 0; u < s.factor; ++u)
      sum += dy[(first + v * across + u) * s.channels + channel];
  return sum;
}

}  // namespace scalecalc::tensor
