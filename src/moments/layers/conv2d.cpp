#include "moments/layers/conv2d.hpp"

#include <algorithm>

namespace scalecalc::moments {
namespace {

/// At how many outputs along one side the tap at `offset` falls inside the input.
std::vector<double> inside(std::int64_t size, std::int64_t outputs, const Conv2d& layer) {
  std::vector<double> counts;
  for (std::int64_t offset = 0; offset < layer.kernel; ++offset) {
    std::int64_t count = 0;
    for (std::int64_t out = 0; out < outputs; ++out) {
      const std::int64_t at = out * layer.stride + offset - layer.padding;
      count += at >= 0 && at < size;
    }
    counts.push_back(static_cast<double>(count));
  }
  return counts;
}

/// E r^2/(E r)^2 of the taps r that an output has along one side.
double evenness(std::int64_t size, std::int64_t outputs, const Conv2d& layer) {
  double once = 0, squares = 0;
  for (std::int64_t out = 0; out < outputs; ++out) {
    const std::int64_t first = out * layer.stride - layer.padding, last = first + layer.kernel;
    const auto taps = static_cast<double>(std::min(last, size) - std::max<std::int64_t>(first, 0));
    once += taps;
    squares += taps * taps;
  }
  return once > 0 ? squares * static_cast<double>(outputs) / (once * once) : 1;
}

}  // namespace

Taps count_taps(const Conv2d& layer) {
  Taps taps;
  taps.count = static_cast<double>(layer.kernel * layer.kernel);
  taps.inputs = static_cast<double>(layer.height * layer.width);
  taps.outputs = static_cast<double>(layer.out_height() * layer.out_width());
  const auto rows = inside(layer.height, layer.out_height(), layer);
  const auto columns = inside(layer.width, layer.out_width(), layer);
  for (const double row : rows) {
    for (const double column : columns) {
      const double n = row * column;
      taps.once += n;
      taps.pairs += n * (n - 1);
      taps.squares += n * n;
    }
  }
  taps.uneven = evenness(layer.height, layer.out_height(), layer) *
                    evenness(layer.width, layer.out_width(), layer) -
                1;
  return taps;
}

}  // namespace scalecalc::moments
