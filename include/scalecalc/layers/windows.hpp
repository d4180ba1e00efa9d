#pragma once

#include <cstdint>

namespace scalecalc {

/// How many windows of `kernel` positions, `stride` apart, there are along `size` positions with as
/// many more as `padding` at either end. At least 1 where a window fits.
constexpr std::int64_t windows_along(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                                     std::int64_t padding) {
  return (size + 2 * padding - kernel) / stride + 1;
}

}  // namespace scalecalc
