#pragma once

#include <cstdint>
#include <string>

#include "scalecalc/layers/linear.hpp"
#include "scalecalc/layers/windows.hpp"

namespace scalecalc {

/// Tokens are the positions of one image, row by row. The matrix has taps in_channels/groups rows.
struct Conv2d {
  std::string path;
  std::int64_t in_channels = 0, out_channels = 0, kernel = 1, stride = 1, padding = 0, groups = 1;
  std::int64_t height = 0, width = 0;  ///< of the input
  Linear weight;                       ///< fan_in x out_channels; its std, distribution, bias
  /// conv1d: along rows alone, each by itself; the tokens of a sequence are one row.
  bool one_row = false;
  /// conv_transpose2d: each input adds to the outputs that a convolution of the same kernel would
  /// have read it for, (in - 1) stride - 2 padding + kernel + output_padding of them along a side.
  bool transposed = false;
  std::int64_t output_padding = 0;
  std::int64_t taps() const { return one_row ? kernel : kernel * kernel; }
  std::int64_t out_height() const { return one_row ? height : out_side(height); }
  std::int64_t out_width() const { return out_side(width); }

 private:
  std::int64_t out_side(std::int64_t side) const {
    return transposed ? (side - 1) * stride - 2 * padding + kernel + output_padding
                      : windows_along(side, kernel, stride, padding);
  }
};

}  // namespace scalecalc
