#include "moments/key_sizes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sample.hpp"

namespace scalecalc::moments {
namespace {

TEST_CASE("two sharp rows share the largest keys") {
  struct Case {
    int keys;
    double tau2, variance;
  };
  for (const Case& one : {Case{36, 0.5, 0.5}, Case{36, 3.5, 0.3}, Case{36, 50, 0.3},
                          Case{36, 50, 1}, Case{9, 50, 0.5}, Case{128, 20, 0.5}}) {
    CAPTURE(one.keys);
    CAPTURE(one.tau2);
    CAPTURE(one.variance);
    constexpr int drawn = 4000;
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    testing::Sample overlap, mix;
    std::vector<double> sizes(static_cast<std::size_t>(one.keys)), both(sizes.size());
    for (int draw = 0; draw < drawn; ++draw) {
      for (double& k : sizes)
        k = std::exp(std::sqrt(one.variance) * normal(random) - one.variance / 2);
      std::fill(both.begin(), both.end(), 1.0);
      for (int row = 0; row < 2; ++row) {
        std::vector<double> p(sizes.size());
        double sum = 0;
        for (std::size_t s = 0; s < p.size(); ++s)
          sum += p[s] = std::exp(std::sqrt(one.tau2 * sizes[s]) * normal(random));
        for (std::size_t s = 0; s < p.size(); ++s) both[s] *= p[s] / sum;
      }
      double plain = 0, sized = 0;
      for (std::size_t s = 0; s < sizes.size(); ++s) {
        plain += both[s] * one.keys;
        sized += both[s] * one.keys * sizes[s];
      }
      overlap.add(plain);
      mix.add(sized);
    }
    const OverlapOfSizes found = overlap_of_sizes(one.keys, one.tau2, one.variance);
    // What is stated, and four standard errors.
    const auto close = [&](double value, const testing::Sample& sample) {
      CHECK(std::fabs(value - sample.mean()) <=
            found.omitted * value + 4 * sample.standard_error());
    };
    close(found.overlap, overlap);
    close(found.mix, mix);
    // The largest have more, or there is nothing to state.
    CHECK(found.mix > 1);
  }
}

TEST_CASE("keys of one size have what they have") {
  const OverlapOfSizes found = overlap_of_sizes(36, 50, 0);
  CHECK(found.overlap == 1);
  CHECK(found.mix == 1);
  CHECK(found.omitted == 0);
}

}  // namespace
}  // namespace scalecalc::moments
