#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

// images, height, width, in, out, kernel, stride, padding, groups
const ConvShape kWindows[] = {
    {1, 1, 1, 1, 1, 1, 1, 0, 1}, {2, 5, 4, 3, 3, 3, 2, 1, 1}, {1, 6, 6, 2, 2, 2, 2, 0, 1},
    {2, 4, 7, 4, 4, 3, 1, 1, 1}, {1, 5, 5, 1, 1, 2, 3, 1, 1},
};

OperationRun run_of(const ConvShape& s, Input x, int threads = 1) {
  return {[s](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return max_pool(tape, s, in[0]);
          },
          {std::move(x)},
          threads};
}
OperationRun random_run(const ConvShape& s, int threads = 1) {
  return run_of(s, random_input(s.images * s.positions(), s.in_channels, 1), threads);
}

Vector by_loops(const ConvShape& s) {
  const Vector x = random_input(s.images * s.positions(), s.in_channels, 1).values;
  Vector y;
  for (std::int64_t image = 0; image < s.images; ++image)
    for (std::int64_t row = 0; row < s.out_height(); ++row)
      for (std::int64_t column = 0; column < s.out_width(); ++column)
        for (std::int64_t i = 0; i < s.in_channels; ++i) {
          double most = -std::numeric_limits<double>::infinity();
          for (std::int64_t v = row * s.stride - s.padding;
               v < row * s.stride - s.padding + s.kernel; ++v)
            for (std::int64_t u = column * s.stride - s.padding;
                 u < column * s.stride - s.padding + s.kernel; ++u)
              if (v >= 0 && v < s.height && u >= 0 && u < s.width)
                most = std::max(most,
                                x[static_cast<std::size_t>(
                                    ((image * s.height + v) * s.width + u) * s.in_channels + i)]);
          y.push_back(most);
        }
  return y;
}

}  // namespace

TEST_CASE("max pool: against loops") {
  for (const ConvShape& shape : kWindows) {
    CAPTURE(shape.kernel);
    CHECK(random_run(shape).value() == by_loops(shape));
  }
}

TEST_CASE("max pool: backward against central differences") {
  for (const ConvShape& shape : kWindows) {
    CAPTURE(shape.kernel);
    CHECK(random_run(shape).worst_gradient_error() < kDifferences);
  }
}

TEST_CASE("max pool: of equal values the first gets the gradient") {
  const ConvShape shape{1, 2, 2, 1, 1, 2, 2, 0, 1};
  CHECK(run_of(shape, {4, 1, {0, 0, 0, 0}}).gradients({3})[0] == Vector{3, 0, 0, 0});
  CHECK(run_of(shape, {4, 1, {-1, 2, 2, 0}}).gradients({3})[0] == Vector{0, 3, 0, 0});
}

TEST_CASE("max pool: what is not a number does not vanish") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ConvShape shape{1, 2, 2, 1, 1, 2, 2, 0, 1};
  for (const Vector& x : {Vector{nan, 1, 2, 3}, Vector{1, nan, 2, 3}, Vector{3, 2, 1, nan}})
    CHECK(std::isnan(run_of(shape, {4, 1, x}).value()[0]));
}

TEST_CASE("max pool: the number of threads does not change a bit") {
  const ConvShape shape{3, 9, 8, 4, 4, 3, 2, 1, 1};
  const Vector dy = normal_values(static_cast<std::size_t>(3 * shape.out_positions() * 4), 4);
  CHECK(random_run(shape, 1).value() == random_run(shape, 2).value());
  CHECK(random_run(shape, 1).gradients(dy) == random_run(shape, 2).gradients(dy));
}

}  // namespace scalecalc::tensor
