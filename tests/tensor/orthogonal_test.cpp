#include "tensor/orthogonal.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "orthonormal.hpp"
#include "tolerance.hpp"

namespace scalecalc::tensor {
namespace {

using namespace testing;

constexpr double kEps = std::numeric_limits<double>::epsilon();

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

}  // namespace scalecalc::tensor
