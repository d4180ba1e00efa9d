#pragma once

#include <cstdint>

#include "moments/layers/conv2d.hpp"
#include "support.hpp"

namespace scalecalc::testing {

/// Of 8 channels to 16, on images of height x width positions, with weights of std 0.02.
inline Conv2d image_conv(std::int64_t height, std::int64_t width, std::int64_t kernel,
                         std::int64_t stride, std::int64_t padding, std::int64_t groups = 1,
                         bool transposed = false) {
  Conv2d layer;
  layer.path = "conv";
  layer.in_channels = 8;
  layer.out_channels = 16;
  layer.kernel = kernel;
  layer.stride = stride;
  layer.padding = padding;
  layer.groups = groups;
  layer.height = height;
  layer.width = width;
  layer.transposed = transposed;
  layer.weight = linear(kernel * kernel * 8 / groups, 16, 0.02);
  return layer;
}

}  // namespace scalecalc::testing
