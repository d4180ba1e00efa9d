#include "audit/central_moments.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace scalecalc::audit_room;

namespace {

/// By the definition, in two passes in long double.
CentralMoments by_definition(const std::vector<double>& values) {
  long double total = 0, m2 = 0, m3 = 0, m4 = 0;
  for (const double x : values) total += x;
  const long double mean = total / static_cast<long double>(values.size());
  for (const double x : values) {
    const long double d = x - mean;
    m2 += d * d;
    m3 += d * d * d;
    m4 += d * d * d * d;
  }
  CentralMoments moments;
  moments.count = static_cast<std::int64_t>(values.size());
  moments.mean = static_cast<double>(mean);
  moments.m2 = static_cast<double>(m2);
  moments.m3 = static_cast<double>(m3);
  moments.m4 = static_cast<double>(m4);
  return moments;
}

void check_same(const CentralMoments& a, const CentralMoments& b) {
  // Sums of n terms in double: n epsilon of their size at most, of which few add up.
  const double n = static_cast<double>(b.count), epsilon = 1e-15 * std::sqrt(n);
  const double size = std::sqrt(b.m2 / n);
  CHECK(a.count == b.count);
  CHECK(std::abs(a.mean - b.mean) <= epsilon * (std::abs(b.mean) + size));
  CHECK(std::abs(a.m2 - b.m2) <= epsilon * b.m2);
  CHECK(std::abs(a.m3 - b.m3) <= epsilon * n * size * size * size * 4);
  CHECK(std::abs(a.m4 - b.m4) <= epsilon * b.m4);
}

}  // namespace

TEST_CASE("moments of blocks and of all of them") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0.3, 0.02);
  for (const std::size_t count : {1u, 2u, 7u, 8u, 9u, 64u, 1001u, 8192u}) {
    std::vector<double> values(count);
    for (double& value : values) value = normal(random);
    check_same(central_moments(values.data(), count), by_definition(values));
  }
  std::vector<double> all;
  CentralMoments merged;
  for (const std::size_t count : {5u, 8192u, 1u, 0u, 300u}) {
    std::vector<double> values(count);
    for (double& value : values) value = normal(random) * static_cast<double>(count);
    merged.add(central_moments(values.data(), count));
    all.insert(all.end(), values.begin(), values.end());
  }
  check_same(merged, by_definition(all));
  CHECK(merged.min == *std::min_element(all.begin(), all.end()));
  CHECK(merged.max == *std::max_element(all.begin(), all.end()));
}

TEST_CASE("a large mean takes no digits from a small spread") {
  std::vector<float> values(4096);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 1.0f : 1.0f + 0x1p-20f;
  CentralMoments moments;
  for (int k = 0; k < 100; ++k) moments.add(central_moments(values.data(), values.size()));
  const double variance = moments.m2 / static_cast<double>(moments.count);
  // The mean of squares is 2^42 times the variance: by raw moments 2^-10 would be off.
  CHECK(variance == doctest::Approx(0x1p-42).epsilon(1e-9));
  CHECK(moments.m4 / static_cast<double>(moments.count) / variance / variance ==
        doctest::Approx(1).epsilon(1e-9));
}

TEST_CASE("what is not finite shows in the mean, wherever it is") {
  for (const float bad : {NAN, INFINITY, -INFINITY})
    for (const std::size_t at : {0u, 13u, 99u, 102u}) {
      std::vector<float> values(103, 1.0f);
      values[at] = bad;
      CHECK_FALSE(std::isfinite(central_moments(values.data(), values.size()).mean));
    }
}
