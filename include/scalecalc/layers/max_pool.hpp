#pragma once

#include <cstdint>
#include <string>

#include "scalecalc/layers/windows.hpp"

namespace scalecalc {

/// The largest value of each window of an image, channel by channel; padding never is it. Tokens
/// are the positions of one image, row by row.
struct MaxPool {
  std::string path;
  std::int64_t channels = 0, kernel = 2, stride = 2, padding = 0;
  std::int64_t height = 0, width = 0;  ///< of the input
  std::int64_t out_height() const { return windows_along(height, kernel, stride, padding); }
  std::int64_t out_width() const { return windows_along(width, kernel, stride, padding); }
};

}  // namespace scalecalc
