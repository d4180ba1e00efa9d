#include <algorithm>

#include "softmax_support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

double z(const Estimate& sampled, const Estimate& integrated) {
  if (sampled.value == integrated.value) return 0.0;
  return (sampled.value - integrated.value) / std::hypot(sampled.error, integrated.error);
}

}  // namespace

// 840 numbers of 42 independent sets: beyond 5 standard errors once in 2000 runs. Overlaps that
// rest on events rarer than one in the draws (opposed scores of many keys) cannot be sampled.
TEST_CASE("sampled softmax averages agree with the integrals") {
  for (const std::int64_t keys : {1, 2, 3, 8, 64, 1000}) {
    for (const double tau2 : {0.0, 0.01, 0.5, 3.5, 20.0, 200.0, 1000.0}) {
      const SoftmaxOne one = softmax_one(keys, tau2);
      for (const double c : {-0.5, 0.0, 0.3, 0.9, 1.0}) {
        CAPTURE(keys);
        CAPTURE(tau2);
        CAPTURE(c);
        MonteCarloOptions options;
        options.samples = keys > 64 ? 1500 : keys > 8 ? 20000 : 200000;
        options.seed = static_cast<std::uint64_t>(1000.0 * tau2) + static_cast<std::uint64_t>(keys);
        const SoftmaxSamples sampled = softmax_monte_carlo(keys, keys, tau2, c, options);
        const SoftmaxPair pair = softmax_pair(keys, tau2, c);
        CHECK(std::abs(z(sampled.p2, one.p2)) < 5.0);
        CHECK(std::abs(z(sampled.a, one.a)) < 5.0);
        if (c < 0.0 && keys >= 64 && tau2 > 10.0) continue;
        CHECK(std::abs(z(sampled.overlap, pair.overlap)) < 5.0);
        CHECK(std::abs(z(sampled.a_prime, pair.a_prime)) < 5.0);
      }
    }
  }
}

TEST_CASE("sampled rows with different numbers of keys") {
  for (const auto& [fewer, more] : {std::pair{1, 5}, {2, 3}, {3, 10}, {10, 64}, {5, 300}}) {
    for (const double tau2 : {0.5, 3.5, 30.0}) {
      for (const double c : {-0.5, 0.0, 0.5, 1.0}) {
        CAPTURE(fewer);
        CAPTURE(more);
        CAPTURE(tau2);
        CAPTURE(c);
        MonteCarloOptions options;
        options.samples = 15000;
        options.seed = 11;
        const SoftmaxSamples sampled = softmax_monte_carlo(fewer, more, tau2, c, options);
        const SoftmaxPair pair = softmax_pair(fewer, more, tau2, c);
        CHECK(std::abs(z(sampled.p2, softmax_one(fewer, tau2).p2)) < 5.0);
        CHECK(std::abs(z(sampled.overlap, pair.overlap)) < 5.0);
        CHECK(std::abs(z(sampled.a_prime, pair.a_prime)) < 5.0);
      }
    }
  }
}

TEST_CASE("sampled softmax averages do not depend on the threads, but on the seed") {
  for (const std::int64_t keys : {2, 130}) {
    MonteCarloOptions options;
    options.samples = 3000;
    options.seed = 5;
    const SoftmaxSamples one = softmax_monte_carlo(keys, keys + 3, 4.0, 0.3, options);
    options.threads = 3;
    const SoftmaxSamples three = softmax_monte_carlo(keys, keys + 3, 4.0, 0.3, options);
    CHECK(one.p2.value == three.p2.value);
    CHECK(one.a_prime.value == three.a_prime.value);
    CHECK(one.overlap.error == three.overlap.error);
    options.seed = 6;
    CHECK(softmax_monte_carlo(keys, keys + 3, 4.0, 0.3, options).p2.value != one.p2.value);
  }
}

TEST_CASE("softmax samples that cannot be drawn") {
  MonteCarloOptions options;
  options.samples = 0;
  CHECK_THROWS_AS(softmax_monte_carlo(2, 2, 1.0, 0.0, options), Error);
  options.samples = 100;
  options.threads = 0;
  CHECK_THROWS_AS(softmax_monte_carlo(2, 2, 1.0, 0.0, options), Error);
  options.threads = 1;
  CHECK_THROWS_AS(softmax_monte_carlo(3, 2, 1.0, 0.0, options), Error);
  CHECK_THROWS_AS(softmax_monte_carlo(2, 2, -1.0, 0.0, options), Error);
}
