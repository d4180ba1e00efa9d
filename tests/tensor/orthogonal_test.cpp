#include "tensor/orthogonal.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support.hpp"
#include "tolerance.hpp"

namespace scalecalc::tensor {
namespace {

using namespace testing;

constexpr double kEps = std::numeric_limits<double>::epsilon();

/// Largest entry of |A^T A - scale I| (A A^T when there are fewer rows than columns).
double departure(const Vector& a, std::size_t rows, std::size_t columns, double scale) {
  const bool tall = rows >= columns;
  const std::size_t thin = tall ? columns : rows, length = tall ? rows : columns;
  const auto entry = [&](std::size_t i, std::size_t j) {
    return tall ? a[i * columns + j] : a[j * columns + i];
  };
  double worst = 0.0;
  for (std::size_t i = 0; i < thin; ++i) {
    for (std::size_t j = 0; j < thin; ++j) {
      double sum = i == j ? -scale : 0.0;
      for (std::size_t t = 0; t < length; ++t) sum += entry(t, i) * entry(t, j);
      worst = std::max(worst, std::fabs(sum));
    }
  }
  return worst;
}

Vector polar(const Vector& a, std::int64_t rows, std::int64_t columns) {
  Vector out(a.size());
  polar_factor(a.data(), rows, columns, out.data());
  return out;
}

}  // namespace

TEST_CASE("orthogonal draws are orthonormal with entries of the asked size") {
  struct Case {
    std::int64_t rows, columns;
  };
  for (const Case c : {Case{1, 1}, Case{5, 5}, Case{9, 4}, Case{4, 9}, Case{1, 6}, Case{64, 65}}) {
    const Vector q = draw_orthogonal({1, 2}, 0.3, c.rows, c.columns);
    const double length = static_cast<double>(std::max(c.rows, c.columns));
    CHECK(departure(q, static_cast<std::size_t>(c.rows), static_cast<std::size_t>(c.columns),
                    0.09 * length) < 20.0 * length * kEps);
    const double mean_square = dot(q, q) / static_cast<double>(q.size());
    CHECK(mean_square == rounded(0.09, 512));
  }
}

TEST_CASE("orthogonal draws favour no sign") {
  // A 1 x 1 orthogonal matrix is +-1 with equal chance.
  double sum = 0.0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) sum += draw_orthogonal({seed, 1}, 1.0, 1, 1)[0];
  CHECK(std::fabs(sum) < 4.0 * 20.0);
  double trace = 0.0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Vector q = draw_orthogonal({seed, 2}, 1.0 / std::sqrt(3.0), 3, 3);
    trace += q[0] + q[4] + q[8];
  }
  // The trace of a Haar-random orthogonal matrix has mean 0 and variance 1.
  CHECK(std::fabs(trace) < 4.0 * 20.0);
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

}  // namespace scalecalc::tensor
