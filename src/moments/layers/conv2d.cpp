#include "moments/layers/conv2d.hpp"

#include <vector>

namespace scalecalc::moments {
namespace {

/// One side of the input, its kernel and what leaves it.
struct Side {
  std::int64_t size, outputs, kernel, stride, padding;
  bool transposed = false;
};

Side rows_of(const Conv2d& layer) {
  if (layer.one_row) return {layer.height, layer.height, 1, 1, 0};
  return {layer.height, layer.out_height(), layer.kernel,
          layer.stride, layer.padding,      layer.transposed};
}
Side columns_of(const Conv2d& layer) {
  return {layer.width,  layer.out_width(), layer.kernel,
          layer.stride, layer.padding,     layer.transposed};
}

/// Calls found(tap, output) for each tap of each output that falls inside: of a transposed side the
/// inputs place themselves among the outputs as outputs do among inputs.
template <class Found>
void for_taps(const Side& side, const Found& found) {
  const std::int64_t places = side.transposed ? side.size : side.outputs,
                     others = side.transposed ? side.outputs : side.size;
  for (std::int64_t place = 0; place < places; ++place)
    for (std::int64_t tap = 0; tap < side.kernel; ++tap) {
      const std::int64_t at = place * side.stride + tap - side.padding;
      if (at >= 0 && at < others) found(tap, side.transposed ? at : place);
    }
}

/// At how many outputs the tap at `offset` falls inside the input.
std::vector<double> inside(const Side& side) {
  std::vector<double> counts(static_cast<std::size_t>(side.kernel));
  for_taps(side, [&](std::int64_t tap, std::int64_t) { ++counts[static_cast<std::size_t>(tap)]; });
  return counts;
}

/// E r^2/(E r)^2 of the taps r that an output has.
double evenness(const Side& side) {
  std::vector<double> taps(static_cast<std::size_t>(side.outputs));
  for_taps(side, [&](std::int64_t, std::int64_t out) { ++taps[static_cast<std::size_t>(out)]; });
  double once = 0, squares = 0;
  for (const double own : taps) {
    once += own;
    squares += own * own;
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
