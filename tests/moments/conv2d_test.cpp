#include "moments/layers/conv2d.hpp"

#include "image_conv.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

Conv2d conv(std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t groups) {
  return image_conv(6, 5, kernel, stride, padding, groups);
}

/// Along a sequence of 30 tokens.
Conv2d along(std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t groups) {
  Conv2d layer = conv(kernel, stride, padding, groups);
  layer.one_row = true;
  layer.height = 1;
  layer.width = 30;
  layer.weight = linear(kernel * 8 / groups, 16, 0.02);
  return layer;
}

/// From an image of 6 x 5.
Conv2d transposed(std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                  std::int64_t output_padding, std::int64_t groups = 1) {
  Conv2d layer = conv(kernel, stride, padding, groups);
  layer.transposed = true;
  layer.output_padding = output_padding;
  return layer;
}

struct Direct {
  double outputs = 0, valid = 0, pairs = 0, squares = 0;
};
/// Every output, every tap, by hand.
Direct direct(const Conv2d& layer) {
  Direct sums;
  sums.outputs = static_cast<double>(layer.out_height() * layer.out_width());
  for (int i = 0; i < (layer.one_row ? 1 : layer.kernel); ++i) {
    for (int j = 0; j < layer.kernel; ++j) {
      double n = 0;
      for (int y = 0; y < layer.out_height(); ++y) {
        for (int x = 0; x < layer.out_width(); ++x) {
          if (layer.transposed) {
            // The input that reaches this output through the tap, if there is one.
            const auto down = y + layer.padding - i, right = x + layer.padding - j;
            n += down >= 0 && right >= 0 && down % layer.stride == 0 && right % layer.stride == 0 &&
                 down / layer.stride < layer.height && right / layer.stride < layer.width;
            continue;
          }
          const auto row = layer.one_row ? y : y * layer.stride + i - layer.padding;
          const auto column = x * layer.stride + j - layer.padding;
          n += row >= 0 && row < layer.height && column >= 0 && column < layer.width;
        }
      }
      sums.valid += n;
      sums.pairs += n * (n - 1);
      sums.squares += n * n;
    }
  }
  return sums;
}

}  // namespace

TEST_CASE("a convolution averages over the taps that fall inside") {
  for (const auto& layer :
       {conv(3, 1, 1, 1), conv(3, 2, 1, 2), conv(1, 1, 0, 1), conv(5, 2, 2, 4), along(3, 1, 1, 1),
        along(5, 2, 2, 4), transposed(2, 2, 0, 0), transposed(3, 2, 1, 1),
        transposed(4, 2, 1, 0, 2), transposed(1, 3, 0, 2)}) {
    Numbers numbers = calculus();
    const Direct sums = direct(layer);
    const double taps = static_cast<double>(layer.taps()), P = sums.outputs;
    const double gain = static_cast<double>(layer.weight.fan_in) * 0.02;
    const auto y = conv_forward(numbers, layer, signal(1, 0.4, 8, 30, 0.2), {30, 2});
    CHECK(y.tokens == static_cast<std::int64_t>(P));
    CHECK(y.width == 16);
    CHECK(y.x.second == near(gain * sums.valid / (taps * P), by_quadrature / 10));
    CHECK(y.x.cross == near(0.4 * gain * sums.pairs / (taps * P * (P - 1)), by_quadrature / 10));
    CHECK(y.x.between == near(0.2 * gain * sums.squares / (taps * P * P), by_quadrature / 10));
    const Pairs x{0, 1, 0.4, 0.2}, g{0, 3, 1, 0.5};
    const double weight = conv_weight_gradient(numbers, layer, x, g, 2.0);
    const double expected =
        (2 * (sums.valid * 3 + sums.pairs * 0.4) + 2 * sums.squares * 0.1) / taps;
    CHECK(weight == near(expected, by_quadrature / 10));
    // All that goes back: each of sum n_j pairs of an output and an input carries C_out/groups.
    const Pairs back = conv_backward(numbers, layer, x, g);
    CHECK(back.second * 30 == near(16.0 / static_cast<double>(layer.groups) * 0.02 * 3 * sums.valid,
                                   by_quadrature / 10));
  }
}

TEST_CASE("a kernel of 1 is a linear layer for each position") {
  Numbers numbers = calculus();
  const Conv2d layer = conv(1, 1, 0, 1);
  const auto x = signal(1, 0.4, 8, 30);
  const auto y = conv_forward(numbers, layer, x, {30, 1});
  const auto z = linear_forward(numbers, layer.weight, x, {30, 1});
  CHECK(y.x.second == rounded(z.x.second, 64));
  CHECK(y.x.cross == rounded(z.x.cross, 64));
}

// 3 x 3 taps on 4 x 4 positions: along a side 2, 3, 3, 2 of them fall inside.
TEST_CASE("positions at the border have fewer taps") {
  Conv2d layer = conv(3, 1, 1, 1);
  layer.height = layer.width = 4;
  const double side = 6.5 / (2.5 * 2.5);
  CHECK(count_taps(layer).uneven == rounded(side * side - 1, 64));
  CHECK(std::fabs(count_taps(conv(1, 1, 0, 1)).uneven) < rounding(64));
}

TEST_CASE("a stride leaves a state of each position at its own tokens") {
  Numbers numbers = calculus();
  Signal<PerPosition> x;
  x.width = 8;
  x.tokens = 30;
  x.x = spread_over({0, 1, 0.4, 0}, make_positions(30, true), 1);
  const auto y = conv_forward(numbers, along(3, 2, 1, 1), x, {30, 1});
  CHECK(y.x.second.size() == 15);
  const auto same = conv_forward(numbers, along(3, 2, 1, 1), signal(1, 0.4, 8, 30), {30, 1});
  CHECK(average(y.x).second == rounded(same.x.second, 64));
  CHECK(average(y.x).cross == rounded(same.x.cross, 64));
  const PerPosition back = conv_backward(numbers, along(3, 2, 1, 1), x.x, y.x);
  CHECK(back.second.size() == 30);
}

TEST_CASE("a gradient follows overlaps through a window as far as it keeps them") {
  const OverlapSlopes below = through_window(OverlapSlopes{{2, 3}, {4, 5}}, 0.5, 0.25, 1.5);
  CHECK(below.within.own == rounded(2 * 1.5 * 0.25 * 0.5, 4));
  CHECK(below.within.stream == rounded(3 * 0.5 * 0.5, 4));
  CHECK(below.between.own == rounded(4 * 1.5 * 0.25 * 0.5, 4));
  CHECK(below.between.stream == rounded(5 * 0.5 * 0.5, 4));
}

// Of independent pairs a chain of windows keeps sum h^2, h the filter of all of them.
TEST_CASE("what windows keep of overlaps is what their filter does") {
  const auto direct = [](std::size_t first, std::size_t stride, std::size_t second) {
    std::vector<double> filter(first + stride * (second - 1));
    for (std::size_t j = 0; j < second; ++j)
      for (std::size_t i = 0; i < first; ++i)
        filter[stride * j + i] += 1.0 / static_cast<double>(first * second);
    double kept = 0;
    for (const double h : filter) kept += h * h;
    return kept;
  };
  for (const std::size_t first : {1u, 2u, 3u, 5u})
    for (const std::size_t stride : {1u, 2u, 4u})
      for (const std::size_t second : {1u, 3u, 4u}) {
        const WindowedLags one = through_window({}, first, stride);
        const WindowedLags two = through_window(one.lags, second, 1);
        CAPTURE(first);
        CAPTURE(stride);
        CAPTURE(second);
        CHECK(one.kept == rounded(1.0 / static_cast<double>(first), 64));
        CHECK(one.kept * two.kept == rounded(direct(first, stride, second), 64));
      }
  // What all pairs share no window averages.
  const WindowedLags shared = through_window({{1}, 1}, 3, 2);
  CHECK(shared.kept == rounded(1, 64));
  CHECK(shared.lags.at(7) == rounded(1, 64));
}

TEST_CASE("a transposed convolution makes the image that a convolution would have read") {
  const Conv2d layer = transposed(3, 2, 1, 1);
  CHECK(layer.out_height() == 12);
  CHECK(layer.out_width() == 10);
  // Four taps at a quarter of the outputs, none less than 1.
  CHECK(std::fabs(count_taps(transposed(2, 2, 0, 0)).uneven) < rounding(64));
  CHECK(count_taps(transposed(1, 2, 0, 1)).uneven == rounded(3, 64));
}

// Every output of a kernel as large as its stride reads one input: a pair of two has the overlap of
// its inputs where both have the same place in their blocks, else none.
TEST_CASE("outputs of a transposed convolution overlap where they share taps") {
  const TransposedLags blocks = through_transposed({}, 2, 2);
  CHECK(blocks.kept == rounded(2, 64));
  CHECK(blocks.uneven == rounded(2, 64));
  CHECK(blocks.lags.at(1) == rounded(0.5, 64));
  CHECK(blocks.lags.at(2) == 0);
  // Remainders of two taps and of one.
  const TransposedLags uneven = through_transposed({}, 3, 2);
  CHECK(uneven.kept == rounded(4.0 * 3 / 9, 64));
  CHECK(uneven.uneven == rounded(4.0 * 5 / 9, 64));
  Numbers numbers = calculus();
  const auto x = signal(1, 0.4, 8, 30);
  const auto y = conv_forward(numbers, transposed(2, 2, 0, 0), x, {30, 1});
  const double pairs = y.x.cross;
  const double same = 8 * 0.02 * 0.4;
  // E r^2 of pairs of which n have `same` and the others nothing.
  CHECK(pairs == near(same * 29 / 119));
  CHECK(y.overlap.variance() >= pairs * pairs * 3 * (1 - by_quadrature));
}
