#include <doctest/doctest.h>

#include <cstddef>

#include "support.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

/// A transposed convolution: of its input, and what leaves besides.
struct Transposed {
  ConvShape shape;
  std::int64_t output_padding = 0;
  std::int64_t height() const { return out(shape.height); }
  std::int64_t width() const { return out(shape.width); }
  std::int64_t out(std::int64_t side) const {
    return (side - 1) * shape.stride - 2 * shape.padding + shape.kernel + output_padding;
  }
};

// images, height, width, in, out, kernel, stride, padding, groups
const Transposed kTransposed[] = {
    {{1, 1, 1, 1, 1, 1, 1, 0, 1}},    {{2, 3, 2, 3, 2, 2, 2, 0, 1}},
    {{1, 3, 4, 4, 6, 3, 2, 1, 2}},    {{2, 2, 3, 4, 4, 4, 2, 1, 4}},
    {{1, 3, 3, 2, 3, 3, 2, 1, 1}, 1}, {{1, 2, 2, 2, 2, 1, 3, 0, 1}, 2},
};

OperationRun transposed_run(const Transposed& t, int threads = 1) {
  const ConvShape& s = t.shape;
  return {[t](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return convolve_transposed(tape, t.shape, t.height(), t.width(), in[0], in[1], &in[2]);
          },
          {random_input(s.images * s.positions(), s.in_channels, 1),
           random_input(s.taps() * s.group_in(), s.out_channels, 2),
           random_input(1, s.out_channels, 3)},
          threads};
}

/// Every input adds to the outputs that its taps reach.
Vector by_loops(const Transposed& t) {
  const ConvShape& s = t.shape;
  const Vector x = random_input(s.images * s.positions(), s.in_channels, 1).values;
  const Vector w = random_input(s.taps() * s.group_in(), s.out_channels, 2).values;
  const Vector bias = random_input(1, s.out_channels, 3).values;
  const auto index = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  Vector y;
  for (std::int64_t i = 0; i < s.images * t.height() * t.width(); ++i)
    y.insert(y.end(), bias.begin(), bias.end());
  for (std::int64_t at = 0; at < s.images * s.positions(); ++at)
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
      const std::int64_t image = at / s.positions();
      const std::int64_t v = at / s.width % s.height * s.stride + tap / s.kernel - s.padding;
      const std::int64_t u = at % s.width * s.stride + tap % s.kernel - s.padding;
      if (v < 0 || v >= t.height() || u < 0 || u >= t.width()) continue;
      for (std::int64_t o = 0; o < s.out_channels; ++o)
        for (std::int64_t i = 0; i < s.group_in(); ++i)
          y[index(((image * t.height() + v) * t.width() + u) * s.out_channels + o)] +=
              x[index(at * s.in_channels + o / s.group_out() * s.group_in() + i)] *
              w[index((tap * s.group_in() + i) * s.out_channels + o)];
    }
  return y;
}

OperationRun upsample_run(const UpsampleShape& s, int threads = 1) {
  return {[s](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return upsample(tape, s, in[0]);
          },
          {random_input(s.images * s.positions(), s.channels, 1)},
          threads};
}

OperationRun concat_run(std::int64_t rows, std::int64_t left, std::int64_t right) {
  return {[](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return concat(tape, in[0], in[1]);
          },
          {random_input(rows, left, 1), random_input(rows, right, 2)}};
}

/// Of sums of up to `terms` products of normal values.
double rounding_of(std::int64_t terms) {
  return 1e-15 * static_cast<double>(8 * terms);
}

}  // namespace

TEST_CASE("transposed convolutions: against loops") {
  for (const Transposed& one : kTransposed) {
    CAPTURE(one.shape.kernel);
    CAPTURE(one.shape.stride);
    const Vector y = transposed_run(one).value(), expected = by_loops(one);
    REQUIRE(y.size() == expected.size());
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      worst = std::max(worst, std::fabs(y[i] - expected[i]));
    CHECK(worst <= rounding_of(one.shape.taps() * one.shape.group_in()));
  }
}

TEST_CASE("transposed convolutions: backward against central differences") {
  for (const Transposed& one : kTransposed) {
    CAPTURE(one.shape.kernel);
    CAPTURE(one.shape.stride);
    CHECK(transposed_run(one).worst_gradient_error() < kDifferences);
  }
}

TEST_CASE("transposed convolutions: a value that is read twice gets both gradients") {
  const Transposed one{{1, 2, 2, 2, 2, 1, 1, 0, 1}};
  const auto through = [one](Tape<double>& tape, const Variable<double>& x,
                             const Variable<double>& w) {
    const Variable<double>* no_bias = nullptr;
    return convolve_transposed(tape, one.shape, one.height(), one.width(), x, w, no_bias);
  };
  const OperationRun twice{[through](Tape<double>& tape, const std::vector<Variable<double>>& in) {
                             const Variable<double> y = through(tape, in[0], in[1]);
                             return through(tape, blend(tape, 1.0, in[0], 1.0, y), in[1]);
                           },
                           {random_input(4, 2, 1), random_input(2, 2, 2)}};
  CHECK(twice.worst_gradient_error() < kDifferences);
}

TEST_CASE("upsampling copies every position, and its gradients add up") {
  const UpsampleShape shape{2, 1, 2, 1, 2};
  const OperationRun run = upsample_run(shape);
  const Vector x = random_input(4, 1, 1).values;
  CHECK(run.value() == Vector{x[0], x[0], x[1], x[1], x[0], x[0], x[1], x[1],  //
                              x[2], x[2], x[3], x[3], x[2], x[2], x[3], x[3]});
  CHECK(run.gradients({1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 0, 0, 0, 0, 1})[0] == Vector{14, 22, 0, 2});
  for (const UpsampleShape& other :
       {UpsampleShape{1, 1, 1, 1, 1}, {2, 3, 2, 3, 3}, {1, 2, 4, 2, 2}})
    CHECK(upsample_run(other).worst_gradient_error() < kDifferences);
}

TEST_CASE("a concatenation has both side by side, and gives each its own gradient") {
  const OperationRun run = concat_run(2, 1, 2);
  const Vector a = random_input(2, 1, 1).values, b = random_input(2, 2, 2).values;
  CHECK(run.value() == Vector{a[0], b[0], b[1], a[1], b[2], b[3]});
  const auto gradients = run.gradients({1, 2, 3, 4, 5, 6});
  CHECK(gradients[0] == Vector{1, 4});
  CHECK(gradients[1] == Vector{2, 3, 5, 6});
  CHECK(concat_run(3, 4, 1).worst_gradient_error() < kDifferences);
}

TEST_CASE("rearranging: the number of threads does not change a bit") {
  const Transposed one{{3, 5, 4, 4, 6, 3, 2, 1, 2}};
  const Vector dy = normal_values(static_cast<std::size_t>(3 * one.height() * one.width() * 6), 4);
  CHECK(transposed_run(one, 1).value() == transposed_run(one, 2).value());
  CHECK(transposed_run(one, 1).gradients(dy) == transposed_run(one, 2).gradients(dy));
  const UpsampleShape up{3, 5, 4, 6, 2};
  const Vector dz = normal_values(static_cast<std::size_t>(3 * up.out_positions() * 6), 5);
  CHECK(upsample_run(up, 1).gradients(dz) == upsample_run(up, 2).gradients(dz));
}

}  // namespace scalecalc::tensor
