#pragma once

#include <cstdint>

#include "base/host_device.hpp"
#include "tensor/device.hpp"

/// Which place of the input an output position sees through which tap of the kernel, and where that
/// is kept. Places are counted along one side of an image, positions row by row over all of it.
namespace scalecalc::tensor {

/// Of output place `out` through tap `tap` of one side; in the padding when it is not in_image.
SCALECALC_HOST_DEVICE inline std::int64_t seen_place(const ConvShape& s, std::int64_t out,
                                                     std::int64_t tap) {
  return out * s.stride + tap - s.padding;
}
/// The row that output row `out` sees through tap `tap` of the whole kernel.
SCALECALC_HOST_DEVICE inline std::int64_t seen_row(const ConvShape& s, std::int64_t out,
                                                   std::int64_t tap) {
  return s.one_row ? out : seen_place(s, out, tap / s.kernel);
}
SCALECALC_HOST_DEVICE inline bool in_image(std::int64_t place, std::int64_t side) {
  return place >= 0 && place < side;
}

/// The output place, of `outs` of them, that sees input place `place` through `tap`; -1 if none.
SCALECALC_HOST_DEVICE inline std::int64_t seeing_place(const ConvShape& s, std::int64_t place,
                                                       std::int64_t tap, std::int64_t outs) {
  const std::int64_t from = place + s.padding - tap;
  if (from < 0 || from % s.stride != 0) return -1;
  const std::int64_t out = from / s.stride;
  return out < outs ? out : -1;
}

/// The input position that output position `out` sees through tap `tap` of the kernel's; -1 in
/// the padding.
SCALECALC_HOST_DEVICE inline std::int64_t seen_position(const ConvShape& s, std::int64_t out,
                                                        std::int64_t tap) {
  const std::int64_t y = seen_row(s, out / s.out_width(), tap);
  const std::int64_t x = seen_place(s, out % s.out_width(), tap % s.kernel);
  return in_image(y, s.height) && in_image(x, s.width) ? y * s.width + x : -1;
}

/// The output position that sees input position `position` through `tap`; -1 if none does.
SCALECALC_HOST_DEVICE inline std::int64_t seeing_position(const ConvShape& s, std::int64_t position,
                                                          std::int64_t tap) {
  const std::int64_t row = position / s.width;
  const std::int64_t y = s.one_row ? row : seeing_place(s, row, tap / s.kernel, s.out_height());
  if (y < 0) return -1;
  const std::int64_t x = seeing_place(s, position % s.width, tap % s.kernel, s.out_width());
  return x < 0 ? -1 : y * s.out_width() + x;
}

/// The matrices of what is seen, (groups, rows, seen_depth), `rows` being output positions of one
/// image after the other: the place of what `row` sees of input channel `channel` through `tap`.
SCALECALC_HOST_DEVICE inline std::int64_t seen_depth(const ConvShape& s) {
  return s.taps() * s.group_in();
}
SCALECALC_HOST_DEVICE inline std::int64_t seen_entry(const ConvShape& s, std::int64_t rows,
                                                     std::int64_t row, std::int64_t tap,
                                                     std::int64_t channel) {
  const std::int64_t group = channel / s.group_in();
  return (group * rows + row) * seen_depth(s) + tap * s.group_in() + channel % s.group_in();
}

}  // namespace scalecalc::tensor
