#include <doctest/doctest.h>

#include <limits>

#include "support.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

OperationRun norm_run(bool centred, double eps, Input x, int threads = 1) {
  return {[=](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return normalise(tape, centred, eps, in[0]);
          },
          {std::move(x)},
          threads};
}

/// dx = J^T dy with the whole Jacobian, J_ij = c (delta_ij - [centred] 1/n - y_i y_j / n).
Vector by_jacobian(bool centred, double eps, const Vector& x, const Vector& dy, std::size_t n) {
  Vector dx(x.size(), 0.0);
  for (std::size_t row = 0; row < x.size(); row += n) {
    double mean = 0.0, square = 0.0;
    for (std::size_t i = 0; i < n && centred; ++i) mean += x[row + i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) square += std::pow(x[row + i] - mean, 2);
    const double c = 1.0 / std::sqrt(square / static_cast<double>(n) + eps);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const double yi = c * (x[row + i] - mean), yj = c * (x[row + j] - mean);
        const double across = ((centred ? 1.0 : 0.0) + yi * yj) / static_cast<double>(n);
        dx[row + j] += c * ((i == j ? 1.0 : 0.0) - across) * dy[row + i];
      }
    }
  }
  return dx;
}

}  // namespace

TEST_CASE("norms: backward against central differences") {
  for (const bool centred : {true, false}) {
    for (const std::int64_t width : {1, 2, 3, 7, 33}) {
      // Two entries without eps are +-1 whatever they are: nothing to compare.
      const double eps = width < 3 ? 0.5 : 0.0;
      CAPTURE(centred);
      CAPTURE(width);
      CHECK(norm_run(centred, eps, random_input(4, width, 5)).worst_gradient_error() <
            kSharpDifferences);
      CHECK(norm_run(centred, 0.3, random_input(1, width, 6)).worst_gradient_error() <
            10 * kDifferences);
    }
  }
}

TEST_CASE("norms: backward against the whole Jacobian") {
  for (const bool centred : {true, false}) {
    for (const std::size_t width : {3u, 8u, 65u}) {
      const Input x = random_input(5, static_cast<std::int64_t>(width), 8);
      const Vector dy = normal_values(5 * width, 9);
      for (const double eps : {0.0, 0.2}) {
        const Vector expected = by_jacobian(centred, eps, x.values, dy, width);
        const Vector got = norm_run(centred, eps, x).gradients(dy)[0];
        // Sums of `width` terms whose result is smaller than they are, by 3 at most here.
        CHECK(distance(got, expected) < 10.0 * static_cast<double>(width) *
                                            std::numeric_limits<double>::epsilon() * norm(dy));
      }
    }
  }
}

TEST_CASE("norms: rows have mean 0 and mean square 1") {
  Input x = random_input(6, 50, 1);
  for (double& entry : x.values) entry = 3.0 + 100.0 * entry;
  for (const bool centred : {true, false}) {
    const Vector y = norm_run(centred, 0.0, x).value();
    for (std::size_t row = 0; row < y.size(); row += 50) {
      double mean = 0.0, square = 0.0;
      for (std::size_t i = 0; i < 50; ++i) {
        mean += y[row + i] / 50.0;
        square += y[row + i] * y[row + i] / 50.0;
      }
      if (centred) CHECK(std::fabs(mean) < 50.0 * std::numeric_limits<double>::epsilon());
      CHECK(std::fabs(square - 1.0) < 50.0 * std::numeric_limits<double>::epsilon());
    }
  }
}

TEST_CASE("norms: a row without variance gives zeros, not NaN") {
  const Input constant{2, 4, Vector(8, 0.5)}, zero{2, 4, Vector(8, 0.0)};
  const Vector dy = normal_values(8, 3);
  CHECK(norm_run(true, 0.0, constant).value() == Vector(8, 0.0));
  CHECK(norm_run(true, 0.0, constant).gradients(dy)[0] == Vector(8, 0.0));
  CHECK(norm_run(false, 0.0, zero).value() == Vector(8, 0.0));
  CHECK(norm_run(false, 0.0, zero).gradients(dy)[0] == Vector(8, 0.0));
  // Its mean, a sum of thirds, is not exactly one of them.
  for (const std::int64_t width : {3, 6, 50, 777}) {
    const auto count = static_cast<std::size_t>(2 * width);
    const Input thirds{2, width, Vector(count, 1.0 / 3.0)};
    CHECK(norm_run(true, 0.0, thirds).value() == Vector(count, 0.0));
    CHECK(norm_run(true, 0.0, thirds).gradients(normal_values(count, 3))[0] == Vector(count, 0.0));
  }
  Input broken = constant;
  broken.values[5] = NAN;
  CHECK(std::isnan(norm_run(true, 0.0, broken).value()[5]));
}

TEST_CASE("affine: backward against central differences, and for a constant input") {
  for (const std::int64_t width : {1, 6, 31}) {
    const OperationRun run(
        [](Tape<double>& tape, const std::vector<Variable<double>>& in) {
          return affine(tape, in[0], in[1], in[2]);
        },
        {random_input(5, width, 1), random_input(1, width, 2), random_input(1, width, 3)});
    CHECK(run.worst_gradient_error() < kDifferences);
    const Input x = random_input(5, width, 1);
    const OperationRun on_constant(
        [&](Tape<double>& tape, const std::vector<Variable<double>>& in) {
          Tensor<double> value = tape.make(5, width);
          tape.device().upload(x.values.data(), value.data(), value.bytes());
          return affine(tape, tape.constant(value), in[0], in[1]);
        },
        {random_input(1, width, 2), random_input(1, width, 3)});
    CHECK(on_constant.worst_gradient_error() < kDifferences);
  }
}

TEST_CASE("norms: the number of threads does not change a bit") {
  const Input x = random_input(700, 130, 2);
  const Vector dy = normal_values(700 * 130, 4);
  CHECK(norm_run(true, 0.0, x, 1).value() == norm_run(true, 0.0, x, 2).value());
  CHECK(norm_run(true, 0.0, x, 1).gradients(dy) == norm_run(true, 0.0, x, 2).gradients(dy));
}

}  // namespace scalecalc::tensor
