#pragma once

#include <cstdint>

#include "base/host_device.hpp"
#include "tensor/conv_index.hpp"

/// Windows of an image and the largest of each, for both devices. A window is what one tap kernel
/// sees; of equal values the first tap's counts, row by row, and padding never does.
namespace scalecalc::tensor {

/// Of output position `out` of an image whose values of one channel are x[position * stride]: the
/// input position of the largest. A window lies in the image with at least one tap.
template <class Real>
SCALECALC_HOST_DEVICE std::int64_t largest_position(const ConvShape& s, std::int64_t out,
                                                    const Real* x, std::int64_t stride) {
  std::int64_t found = -1;
  for (std::int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
    const std::int64_t position = seen_position(s, out, tap);
    if (position < 0) continue;
    // A value that is not a number is the largest: it must not vanish.
    const Real value = x[position * stride];
    if (found < 0 || value > x[found * stride] || value != value) found = position;
  }
  return found;
}

/// What input position `position` gets back from the windows that it is the largest of.
template <class Real>
SCALECALC_HOST_DEVICE Real back_to(const ConvShape& s, std::int64_t position, const Real* x,
                                   const Real* dy, std::int64_t stride) {
  Real sum = 0;
  for (std::int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
    const std::int64_t out = seeing_position(s, position, tap);
    if (out >= 0 && largest_position(s, out, x, stride) == position) sum += dy[out * stride];
  }
  return sum;
}

}  // namespace scalecalc::tensor
