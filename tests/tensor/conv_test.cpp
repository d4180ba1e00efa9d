#include <doctest/doctest.h>

#include <limits>

#include "conv_shapes.hpp"
#include "support.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

OperationRun conv_run(const ConvShape& s, int threads = 1) {
  const std::int64_t fan_in = s.taps() * s.group_in();
  return {[s](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return convolve(tape, s, in[0], in[1], &in[2]);
          },
          {random_input(s.images * s.positions(), s.in_channels, 1),
           random_input(fan_in, s.out_channels, 2), random_input(1, s.out_channels, 3)},
          threads};
}

/// y[image, row, column, o] straight from the definition.
Vector by_loops(const ConvShape& s) {
  const Vector x = random_input(s.images * s.positions(), s.in_channels, 1).values;
  const Vector w = random_input(s.taps() * s.group_in(), s.out_channels, 2).values;
  const Vector bias = random_input(1, s.out_channels, 3).values;
  const auto at = [](const Vector& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
  Vector y;
  for (std::int64_t out = 0; out < s.images * s.out_positions() * s.out_channels; ++out) {
    const std::int64_t channel = out % s.out_channels, place = out / s.out_channels;
    const std::int64_t column = place % s.out_width();
    const std::int64_t row = place / s.out_width() % s.out_height();
    const std::int64_t image = place / s.out_positions(), group = channel / s.group_out();
    double sum = at(bias, channel);
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
      const std::int64_t v = s.one_row ? row : row * s.stride + tap / s.kernel - s.padding;
      const std::int64_t u = column * s.stride + tap % s.kernel - s.padding;
      if (v < 0 || v >= s.height || u < 0 || u >= s.width) continue;
      for (std::int64_t i = 0; i < s.group_in(); ++i) {
        const std::int64_t from = (image * s.height + v) * s.width + u;
        sum += at(x, from * s.in_channels + group * s.group_in() + i) *
               at(w, (tap * s.group_in() + i) * s.out_channels + channel);
      }
    }
    y.push_back(sum);
  }
  return y;
}

}  // namespace

TEST_CASE("conv: against loops") {
  for (const ConvShape& shape : kConvShapes) {
    CAPTURE(shape.kernel);
    const Vector expected = by_loops(shape), got = conv_run(shape).value();
    // Sums of at most 50 products of order 1.
    CHECK(distance(got, expected) <
          50.0 * std::numeric_limits<double>::epsilon() * (1.0 + norm(expected)));
  }
}

TEST_CASE("conv: backward against central differences") {
  for (const ConvShape& shape : kConvShapes) {
    CAPTURE(shape.kernel);
    CAPTURE(shape.groups);
    CHECK(conv_run(shape).worst_gradient_error() < kDifferences);
  }
}

TEST_CASE("conv: the number of threads does not change a bit") {
  const ConvShape shape{3, 9, 8, 4, 6, 3, 1, 1, 2};
  const Vector dy = normal_values(3 * 72 * 6, 4);
  CHECK(conv_run(shape, 1).value() == conv_run(shape, 2).value());
  CHECK(conv_run(shape, 1).gradients(dy) == conv_run(shape, 2).gradients(dy));
}

}  // namespace scalecalc::tensor
