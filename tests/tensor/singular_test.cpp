#include "tensor/singular.hpp"

#include <doctest/doctest.h>

#include "support.hpp"
#include "tensor/ops.hpp"
#include "tolerance.hpp"

namespace scalecalc::tensor {
namespace {

using namespace testing;

OperationRun weight_run(Input w, bool is_spectral) {
  return {[=](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return is_spectral ? spectral(tape, in[0]) : demodulate(tape, in[0]);
          },
          {std::move(w)}};
}

/// a x, or a^T x.
Vector times(const Input& a, const Vector& x, bool transposed = false) {
  Vector y(static_cast<std::size_t>(transposed ? a.columns : a.rows), 0.0);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(a.columns);
    const std::size_t column = i % static_cast<std::size_t>(a.columns);
    y[transposed ? column : row] += a.values[i] * x[transposed ? row : column];
  }
  return y;
}
Vector scaled(Vector x, double factor) {
  for (double& entry : x) entry *= factor;
  return x;
}

/// By iteration: after n steps the second singular value is left by (s2/s1)^2n, here below 1e-13.
double largest_value(const Input& a) {
  Vector x = normal_values(static_cast<std::size_t>(a.columns), 9);
  for (int i = 0; i < 3000; ++i) {
    x = times(a, times(a, x), true);
    x = scaled(x, 1.0 / norm(x));
  }
  return norm(times(a, x));
}

/// The length of one column.
double length(const Vector& w, std::int64_t columns, std::int64_t column) {
  double sum = 0.0;
  for (auto i = static_cast<std::size_t>(column); i < w.size();
       i += static_cast<std::size_t>(columns)) {
    sum += w[i] * w[i];
  }
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("singular: the largest value and its vectors, against iteration") {
  for (const auto& [rows, columns] :
       {std::pair{1, 1}, {5, 5}, {3, 8}, {8, 3}, {1, 6}, {6, 1}, {12, 10}}) {
    const Input a = random_input(rows, columns, 4);
    const double largest = largest_value(a);
    for (const double size : {1.0, 1e200, 1e-200}) {
      const Vector entries = scaled(a.values, size);
      const TopSingular top = top_singular(entries.data(), rows, columns);
      // The iteration above is left at 1e-13, squared in the value and not in the vectors.
      CHECK(top.value / size == doctest::Approx(largest).epsilon(1e-12));
      CHECK(norm(top.left) == rounded(1.0, 512));
      CHECK(norm(top.right) == rounded(1.0, 512));
      CHECK(distance(times(a, top.right), scaled(top.left, largest)) < 1e-11 * largest);
    }
  }
}

TEST_CASE("singular: zeros and NaN") {
  const Vector zero(6, 0.0);
  CHECK(top_singular(zero.data(), 2, 3).value == 0.0);
  Vector broken = normal_values(6, 1);
  broken[4] = NAN;
  CHECK(std::isnan(top_singular(broken.data(), 2, 3).value));
  CHECK(weight_run({2, 3, zero}, true).value() == zero);
  CHECK(weight_run({2, 3, zero}, false).value() == zero);
  CHECK(weight_run({2, 3, zero}, true).gradients(normal_values(6, 2))[0] == zero);
  for (const double entry : weight_run({2, 3, broken}, true).value()) CHECK(std::isnan(entry));
}

TEST_CASE("normalised weights: lengths of one, and gradients against central differences") {
  for (const auto& [rows, columns] : {std::pair{4, 4}, {3, 7}, {7, 3}, {5, 1}}) {
    const Input w = random_input(rows, columns, 6);
    const Vector y = weight_run(w, true).value();
    CHECK(top_singular(y.data(), rows, columns).value == rounded(1.0, 512));
    CHECK(weight_run(w, true).worst_gradient_error() < kSharpDifferences);
    const Vector z = weight_run(w, false).value();
    for (int j = 0; j < columns; ++j) {
      CHECK(length(z, columns, j) == rounded(1.0, 512));
    }
    CHECK(weight_run(w, false).worst_gradient_error() < kSharpDifferences);
  }
}

}  // namespace scalecalc::tensor
