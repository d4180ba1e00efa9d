#include "moments/layers/conv2d.hpp"

#include <algorithm>
#include <cmath>
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

/// Calls found(tap, input, output) for each tap of each output that falls inside: of a transposed
/// side the inputs place themselves among the outputs as outputs do among inputs.
template <class Found>
void for_taps(const Side& side, const Found& found) {
  const std::int64_t places = side.transposed ? side.size : side.outputs,
                     others = side.transposed ? side.outputs : side.size;
  for (std::int64_t place = 0; place < places; ++place)
    for (std::int64_t tap = 0; tap < side.kernel; ++tap) {
      const std::int64_t at = place * side.stride + tap - side.padding;
      if (at >= 0 && at < others)
        found(tap, side.transposed ? place : at, side.transposed ? at : place);
    }
}

/// At how many outputs the tap at `offset` falls inside the input.
std::vector<double> inside(const Side& side) {
  std::vector<double> counts(static_cast<std::size_t>(side.kernel));
  for_taps(side, [&](std::int64_t tap, std::int64_t, std::int64_t) {
    ++counts[static_cast<std::size_t>(tap)];
  });
  return counts;
}

/// E r^2/(E r)^2 of the taps r that an output has.
double evenness(const Side& side) {
  std::vector<double> taps(static_cast<std::size_t>(side.outputs));
  for_taps(side, [&](std::int64_t, std::int64_t, std::int64_t out) {
    ++taps[static_cast<std::size_t>(out)];
  });
  double once = 0, squares = 0;
  for (const double own : taps) {
    once += own;
    squares += own * own;
  }
  return once > 0 ? squares * static_cast<double>(side.outputs) / (once * once) : 1;
}

/// Calls found(tap, input, output) for each of an image.
template <class Found>
void for_image_taps(const Conv2d& layer, const Found& found) {
  struct Place {
    std::int64_t tap, input, output;
  };
  const auto places = [](const Side& side) {
    std::vector<Place> made;
    for_taps(side, [&](std::int64_t tap, std::int64_t input, std::int64_t output) {
      made.push_back({tap, input, output});
    });
    return made;
  };
  const Side across = rows_of(layer), along = columns_of(layer);
  const std::vector<Place> columns = places(along);
  for (const Place& row : places(across))
    for (const Place& column : columns)
      found(row.tap * along.kernel + column.tap, row.input * along.size + column.input,
            row.output * along.outputs + column.output);
}

}  // namespace

bool keeps_positions(const Conv2d& layer) {
  return std::max(layer.height * layer.width, layer.out_height() * layer.out_width()) <=
         most_positions;
}

Eigen::ArrayXd added_taps(const Conv2d& layer, const Eigen::ArrayXd& inputs) {
  Eigen::ArrayXd outputs = Eigen::ArrayXd::Zero(layer.out_height() * layer.out_width());
  for_image_taps(layer, [&](std::int64_t, std::int64_t input, std::int64_t output) {
    outputs[output] += inputs[input];
  });
  return outputs;
}

Eigen::ArrayXd added_back(const Conv2d& layer, const Eigen::ArrayXd& outputs) {
  Eigen::ArrayXd inputs = Eigen::ArrayXd::Zero(layer.height * layer.width);
  for_image_taps(layer, [&](std::int64_t, std::int64_t input, std::int64_t output) {
    inputs[input] += outputs[output];
  });
  return inputs;
}

Eigen::ArrayXd pairs_through(const Conv2d& layer, const Eigen::ArrayXd& rows) {
  Eigen::ArrayXd of_taps = Eigen::ArrayXd::Zero(static_cast<Eigen::Index>(layer.taps())),
                 made = Eigen::ArrayXd::Zero(layer.out_height() * layer.out_width());
  for_image_taps(layer, [&](std::int64_t tap, std::int64_t input, std::int64_t) {
    of_taps[tap] += rows[input];
  });
  for_image_taps(layer, [&](std::int64_t tap, std::int64_t input, std::int64_t output) {
    made[output] += rows[input] * of_taps[tap];
  });
  return made;
}

Eigen::ArrayXd pairs_back(const Conv2d& layer, const Eigen::ArrayXd& rows) {
  Eigen::ArrayXd of_taps = Eigen::ArrayXd::Zero(static_cast<Eigen::Index>(layer.taps())),
                 made = Eigen::ArrayXd::Zero(layer.height * layer.width);
  for_image_taps(layer, [&](std::int64_t tap, std::int64_t, std::int64_t output) {
    of_taps[tap] += rows[output];
  });
  for_image_taps(layer, [&](std::int64_t tap, std::int64_t input, std::int64_t output) {
    made[input] += rows[output] * of_taps[tap];
  });
  return made;
}

Taps count_taps(const Conv2d& layer, const Profile& x, const Profile& g) {
  Taps taps = count_taps(layer);
  if (!x && !g) return taps;
  const auto count = static_cast<Eigen::Index>(layer.taps());
  Eigen::ArrayXd rows = Eigen::ArrayXd::Zero(count);
  double once = 0, same = 0;
  for_image_taps(layer, [&](std::int64_t tap, std::int64_t input, std::int64_t output) {
    const double row = (x ? x->row[input] : 1) * (g ? g->row[output] : 1);
    once += (x ? x->at[input] : 1) * (g ? g->at[output] : 1);
    same += row * row;
    rows[tap] += row;
  });
  const double within = (x ? x->within : 1) * (g ? g->within : 1),
               between = (x ? x->between : 1) * (g ? g->between : 1);
  taps.once = once;
  taps.pairs = within > 0 ? (rows.square().sum() - same) / within : 0;
  taps.squares = rows.square().sum() / between;
  return taps;
}

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
