#include "tensor/singular.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "orthonormal.hpp"
#include "tensor/ops.hpp"
#include "tensor/orthogonal.hpp"
#include "tolerance.hpp"

namespace scalecalc::tensor {
namespace {

using namespace testing;

constexpr double kEps = std::numeric_limits<double>::epsilon();

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

Vector polar(const Vector& a, std::int64_t rows, std::int64_t columns) {
  Vector out(a.size());
  polar_factor(a.data(), rows, columns, out.data());
  return out;
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

TEST_CASE("singular: the largest value alone is that of the whole decomposition") {
  constexpr double accuracy = 1e-8;  // stops where a step of the iteration adds 1e-10
  for (const auto& [rows, columns] :
       {std::pair{1, 1}, {5, 5}, {3, 8}, {8, 3}, {1, 6}, {6, 1}, {60, 90}, {90, 60}}) {
    const Input a = random_input(rows, columns, 4);
    const double largest = top_singular(a.values.data(), rows, columns).value;
    for (const double size : {1.0, 1e200, 1e-200}) {
      const Vector entries = scaled(a.values, size);
      CHECK(largest_singular_value(entries.data(), rows, columns) / size ==
            doctest::Approx(largest).epsilon(accuracy));
    }
    const Vector u = polar(a.values, rows, columns);
    CHECK(largest_singular_value(u.data(), rows, columns) == doctest::Approx(1).epsilon(accuracy));
  }
  const Vector zero(6, 0.0);
  CHECK(largest_singular_value(zero.data(), 2, 3) == 0.0);
  Vector broken = normal_values(6, 1);
  broken[4] = NAN;
  CHECK(std::isnan(largest_singular_value(broken.data(), 2, 3)));
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

TEST_CASE("the polar factor has orthonormal rows or columns and a positive second factor") {
  for (const std::int64_t rows : {1, 4, 7}) {
    for (const std::int64_t columns : {1, 4, 6}) {
      const Vector a = normal_values(static_cast<std::size_t>(rows * columns), 3);
      const Vector u = polar(a, rows, columns);
      CHECK(departure(u, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), 1.0) <
            50.0 * kEps);
      // <A, UV^T> is the nuclear norm, at least the Frobenius norm.
      CHECK(dot(a, u) >= norm(a) * (1.0 - 10.0 * kEps));
      const Vector again = polar(u, rows, columns);
      CHECK(distance(again, u) < 100.0 * kEps);
    }
  }
}

TEST_CASE("the polar factor of a product of few rows leaves the null directions out") {
  // Rank 2 in 6 x 5: the factor has Frobenius norm sqrt(2).
  const Vector left = normal_values(12, 1), right = normal_values(10, 2);
  Vector a(30, 0.0);
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t k = 0; k < 2; ++k) a[i * 5 + j] += left[i * 2 + k] * right[k * 5 + j];
    }
  }
  CHECK(norm(polar(a, 6, 5)) == rounded(std::sqrt(2.0), 512));
  for (double& entry : a) entry *= 1e-200;
  CHECK(norm(polar(a, 6, 5)) == rounded(std::sqrt(2.0), 512));
  CHECK(polar(Vector(30, 0.0), 6, 5) == Vector(30, 0.0));
  a[3] = NAN;
  CHECK(std::isnan(polar(a, 6, 5)[29]));
}

TEST_CASE("the polar factor keeps the directions of small singular values") {
  // Q1 diag(1, 1e-1 .. 1e-9) Q2^T: squaring it would leave no digit of the last five.
  constexpr std::int64_t kSize = 10;
  const double std = 1.0 / std::sqrt(static_cast<double>(kSize));
  const Vector first = draw_orthogonal({1, 1}, std, kSize, kSize);
  const Vector second = draw_orthogonal({1, 2}, std, kSize, kSize);
  Vector a(first.size(), 0.0), expected(first.size(), 0.0);
  for (std::size_t i = 0; i < kSize; ++i) {
    for (std::size_t j = 0; j < kSize; ++j) {
      double value = 1.0;
      for (std::size_t k = 0; k < kSize; ++k, value /= 10.0) {
        const double product = first[i * kSize + k] * second[j * kSize + k];
        a[i * kSize + j] += value * product;
        expected[i * kSize + j] += product;
      }
    }
  }
  const Vector u = polar(a, kSize, kSize);
  CHECK(departure(u, kSize, kSize, 1.0) < 50.0 * kSize * kEps);
  // Rounding of the entries of a is divided by the smallest singular value.
  CHECK(distance(u, expected) < kSize * kEps / 1e-9);
}

}  // namespace scalecalc::tensor
