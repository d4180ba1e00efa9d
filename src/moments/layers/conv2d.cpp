#include "moments/layers/conv2d.hpp"

#include <algorithm>

namespace scalecalc::moments {
namespace {

/// One side of the input, its kernel and what leaves it.
struct Side {
  std::int64_t size, outputs, kernel, stride, padding;
};

Side rows_of(const Conv2d& layer) {
  if (layer.one_row) return {layer.height, layer.height, 1, 1, 0};
  return {layer.height, layer.out_height(), layer.kernel, layer.stride, layer.padding};
}
Side columns_of(const Conv2d& layer) {
  return {layer.width, layer.out_width(), layer.kernel, layer.stride, layer.padding};
}

/// At how many outputs the tap at `offset` falls inside the input.
std::vector<double> inside(const Side& side) {
  std::vector<double> counts;
  for (std::int64_t offset = 0; offset < side.kernel; ++offset) {
    std::int64_t count = 0;
    for (std::int64_t out = 0; out < side.outputs; ++out) {
      const std::int64_t at = out * side.stride + offset - side.padding;
      count += at >= 0 && at < side.size;
    }
    counts.push_back(static_cast<double>(count));
  }
  return counts;
}

/// E r^2/(E r)^2 of the taps r that an output has.
double evenness(const Side& side) {
  double once = 0, squares = 0;
  for (std::int64_t out = 0; out < side.outputs; ++out) {
    const std::int64_t first = out * side.stride - side.padding, last = first + side.kernel;
    const auto taps =
        static_cast<double>(std::min(last, side.size) - std::max<std::int64_t>(first, 0));
    once += taps;
    squares += taps * taps;
  }
  return once > 0 ? squares * static_cast<double>(side.outputs) / (once * once) : 1;
}

}  // namespace

Taps count_taps(const Conv2d& layer) {
  Taps taps;
  const Side across = rows_of(layer), along = columns_of(layer);
  taps.count = static_cast<double>(layer.taps());
  taps.inputs = static_cast<double>(layer.height * layer.width);
  taps.outputs = static_cast<double>(layer.out_height() * layer.out_width());
  const auto rows = inside(across);
  const auto columns = inside(along);
  for (const double row : rows) {
    for (const double column : columns) {
      const double n = row * column;
      taps.once += n;
      taps.pairs += n * (n - 1);
      taps.squares += n * n;
    }
  }
  taps.uneven = evenness(across) * evenness(along) - 1;
  return taps;
}

}  // namespace scalecalc::moments
