#include "base/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tolerance.hpp"

using namespace scalecalc::base;
using namespace scalecalc::testing;

TEST_CASE("mean, median and deviation") {
  CHECK(sample_mean({1, 2, 6}) == 3);
  CHECK(sample_median({6, 1, 2}) == 2);
  CHECK(sample_median({6, 1, 2, 4}) == 3);
  CHECK(sample_deviation({1, 2, 6}) == rounded(std::sqrt(7.0), 8));
  CHECK(sample_deviation({5}) == 0);
  CHECK(std::isnan(sample_median({1, std::nan(""), 2})));
  CHECK(error_of_mean({1, 2, 6}) == rounded(std::sqrt(7.0 / 3), 8));
  CHECK(std::isnan(error_of_mean({5})));
  CHECK(std::isnan(sample_mean({})));
}
