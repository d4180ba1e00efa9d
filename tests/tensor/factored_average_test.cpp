#include "tensor/factored_average.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support.hpp"

namespace scalecalc::tensor {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

}  // namespace

TEST_CASE("factored averages: what is kept") {
  // 3/4 2 + 1/4 (10 + 4 1/2).
  CHECK(averaged_squares(0.75, 2.0, 10.0, 4.0, 0.5) == 4.5);
  CHECK(averaged_squares(0.75, 2.0F, 10.0, 4.0, 0.5) == 4.5F);
  CHECK(averaged_squares(0.0, 7.0, 3.0, 5.0, 0.0) == 3.0);
  // Its sum is in double: 1 is lost beside 2^25 in float.
  CHECK(averaged_squares(0.5, 0x1p25F, 1.0, 0.0, 0.0) == 0x1p24F);
  CHECK(averaged_squares(0.0, 0.0F, 0x1p25, 4.0, 1.0) == 0x1p25F + 4.0F);
}

TEST_CASE("factored averages: a matrix of rank one is divided by its own size") {
  const Vector left = normal_values(6, 1), right = normal_values(5, 2);
  Vector by_row(6, 0.0), by_column(5, 0.0);
  double total = 0.0;
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      const double square = std::pow(left[i] * right[j], 2);
      by_row[i] += square;
      by_column[j] += square;
      total += square;
    }
  }
  for (std::size_t i = 0; i < 6; ++i) {
    const double share = row_share(total, averaged_squares(0.0, 0.0, by_row[i], 5.0, 0.0));
    for (std::size_t j = 0; j < 5; ++j) {
      const double kept = averaged_squares(0.0, 0.0, by_column[j], 6.0, 0.0);
      const double u = divided_by_root(left[i] * right[j], kept, share);
      // Sums of 30 positive terms below a root, and five operations.
      CHECK(std::fabs(std::fabs(u) - 1.0) < (30.0 + 5.0) * kEps);
      CHECK((u > 0.0) == (left[i] * right[j] > 0.0));
    }
  }
}

TEST_CASE("factored averages: the product of two averages may leave the range of float") {
  // V = 4e-30 9e-30/1e-30 = 3.6e-29, the product is 3.6e-59.
  const float u = divided_by_root(6e-15F, 9e-30F, row_share(1e-30, 4e-30F));
  CHECK(std::fabs(static_cast<double>(u) - 6e-15 / std::sqrt(3.6e-29)) <
        8.0 * static_cast<double>(std::numeric_limits<float>::epsilon()));
}

}  // namespace scalecalc::tensor
