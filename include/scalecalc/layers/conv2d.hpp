#pragma once

#include <cstdint>
#include <string>

#include "scalecalc/layers/linear.hpp"
#include "scalecalc/layers/windows.hpp"

namespace scalecalc {

/// Tokens are the positions of one image, row by row. Fan-in is taps in_channels/groups.
struct Conv2d {
  std::string path;
  std::int64_t in_channels = 0, out_channels = 0, kernel = 1, stride = 1, padding = 0, groups = 1;
  std::int64_t height = 0, width = 0;  ///< of the input
  Linear weight;                       ///< fan_in x out_channels; its std, distribution, bias
  /// conv1d: along rows alone, each by itself; the tokens of a sequence are one row.
  bool one_row = false;
  std::int64_t taps() const { return one_row ? kernel : kernel * kernel; }
  std::int64_t out_height() const {
    return one_row ? height : windows_along(height, kernel, stride, padding);
  }
  std::int64_t out_width() const { return windows_along(width, kernel, stride, padding); }
};

}  // namespace scalecalc
