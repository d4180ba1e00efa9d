#include <random>
#include <thread>

#include "softmax_support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

// The four factors of 1e-6 are the target of the interpolation; beside it, the integrals' own
// errors are below 1e-7.
TEST_CASE("the table is within a millionth of the integrals") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (const std::int64_t keys : {2, 24, 1000, 1000000}) {
    for (const double tau2_max : {0.3, 3.0, 30.0}) {
      const SoftmaxTable table(keys, tau2_max);
      for (int i = 0; i < 12; ++i) {
        const double tau2 = tau2_max * uniform(random);
        const double c = 1.0 - std::pow(uniform(random), 1 + i % 3);
        CAPTURE(keys);
        CAPTURE(tau2);
        CAPTURE(c);
        const SoftmaxOne one = softmax_one(keys, tau2);
        const SoftmaxPair pair = softmax_pair(keys, tau2, c);
        CHECK(relative(table.p2(tau2), one.p2.value) < 1e-6);
        CHECK(relative(table.a(tau2), one.a.value) < 1e-6);
        CHECK(relative(table.overlap(tau2, c), pair.overlap.value) < 1e-6);
        CHECK(relative(table.a_prime(tau2, c), pair.a_prime.value) < 1e-6);
      }
      CHECK(table.measured_error() < 1e-6);
      CHECK(table.measured_error() > 0.0);
    }
  }
}

TEST_CASE("the largest variance and negative correlations") {
  const SoftmaxTable table(16, 1000.0, -0.5);
  for (const double tau2 : {500.0, 1000.0}) {
    for (const double c : {-0.5, -0.1, 0.8, 0.9995, 1.0}) {
      const SoftmaxPair pair = softmax_pair(16, tau2, c);
      CHECK(relative(table.overlap(tau2, c), pair.overlap.value) < 1e-6);
      CHECK(relative(table.a_prime(tau2, c), pair.a_prime.value) < 1e-6);
    }
  }
}

TEST_CASE("the edges of the table") {
  const SoftmaxTable table(8, 2.0);
  CHECK(table.p2(0.0) == 0.125);
  CHECK(table.overlap(0.0, 0.5) == 0.125);
  CHECK(table.a(0.0) == (1.0 - 0.125) / 8.0);
  CHECK(table.a_prime(0.0, 0.5) == table.a(0.0));
  CHECK(relative(table.p2(1e-9), 0.125) < 1e-6);
  CHECK(relative(table.overlap(2.0, 1.0), softmax_one(8, 2.0).p2.value) < 1e-6);
  // Rounding at the edges is forgiven, more is not.
  CHECK(table.overlap(2.0 + 1e-12, 1.0 + 1e-12) == table.overlap(2.0, 1.0));
  CHECK(table.overlap(1.0, -1e-12) == table.overlap(1.0, 0.0));
  CHECK_THROWS_AS(table.overlap(2.1, 0.5), Error);
  CHECK_THROWS_AS(table.overlap(-0.1, 0.5), Error);
  CHECK_THROWS_AS(table.overlap(1.0, 1.1), Error);
  CHECK_THROWS_AS(table.overlap(1.0, -0.1), Error);
  CHECK_THROWS_AS(table.p2(std::nan("")), Error);
  CHECK_THROWS_AS(table.a_prime(0.0, std::nan("")), Error);
  CHECK_THROWS_AS(SoftmaxTable(8, 1001.0), Error);
  CHECK_THROWS_AS(SoftmaxTable(0, 1.0), Error);
  CHECK_THROWS_AS(SoftmaxTable(8, 1.0, 2.0), Error);
}

TEST_CASE("tables of one key, of no variance, of equal rows only") {
  const SoftmaxTable one(1, 5.0);
  CHECK(one.p2(3.0) == 1.0);
  CHECK(one.overlap(3.0, 0.2) == 1.0);
  CHECK(one.a_prime(3.0, 0.2) == 0.0);
  CHECK(one.measured_error() == 0.0);
  CHECK(SoftmaxTable(4, 0.0).p2(0.0) == 0.25);
  const SoftmaxTable equal(12, 1.0, 1.0);
  CHECK(relative(equal.overlap(0.7, 1.0), softmax_one(12, 0.7).p2.value) < 1e-6);
}

TEST_CASE("threads that share a table build each panel once") {
  const SoftmaxTable table(32, 3.0);
  std::vector<double> values(4);
  std::vector<std::thread> threads;
  for (double& value : values) {
    threads.emplace_back([&] { value = table.overlap(1.2, 0.4) + table.a_prime(0.1, 0.9); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const double value : values) CHECK(value == values.front());
}
