#include "gaussian/softmax/pair.hpp"

#include <limits>
#include <tuple>

#include "softmax_support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

const std::vector<std::int64_t> kKeys = {2, 3, 64, 1000000};
const std::vector<double> kVariances = {1e-6, 0.05, 0.5, 3.5, 50.0, 1000.0};
const std::vector<double> kCorrelations = {-0.5, -1e-3, 1e-4, 0.3, 0.9, 0.999};

}  // namespace

TEST_CASE("two rows without spread, or with one shared key") {
  for (const double c : {-1.0, 0.0, 0.4, 1.0}) {
    const SoftmaxPair flat = softmax_pair(8, 0.0, c);
    CHECK(flat.overlap.value == 0.125);
    CHECK(flat.a_prime.value == (1.0 - 0.125) / 8.0);
    CHECK(softmax_pair(1, 7.0, c).overlap.value == 1.0);
    CHECK(softmax_pair(1, 7.0, c).a_prime.value == 0.0);
    CHECK(softmax_pair(1, 4, 7.0, c).overlap.value == 0.25);
    CHECK(softmax_pair(1, 4, 7.0, c).a_prime.value == 0.0);
    CHECK(softmax_pair(2, 4, 0.0, c).overlap.value == 0.25);
    CHECK(softmax_pair(2, 4, 0.0, c).a_prime.value == 0.125);
  }
}

TEST_CASE("independent rows overlap by 1/T, exactly and as an integral") {
  for (const std::int64_t keys : kKeys) {
    for (const double tau2 : kVariances) {
      CHECK(softmax_pair(keys, tau2, 0.0).overlap.value == 1.0 / static_cast<double>(keys));
      const SoftmaxPair near = softmax_pair(keys, tau2, 1e-12);
      // dO/dc = tau2 A' <= tau2/T.
      CHECK(relative(near.overlap.value, 1.0 / static_cast<double>(keys)) < 1e-8);
    }
  }
}

TEST_CASE("equal rows: O is P2 and A' is A") {
  for (const std::int64_t keys : kKeys) {
    for (const double tau2 : kVariances) {
      CAPTURE(keys);
      CAPTURE(tau2);
      const SoftmaxOne one = softmax_one(keys, tau2);
      CHECK(softmax_pair(keys, tau2, 1.0).overlap.value == one.p2.value);
      const double t = static_cast<double>(keys);
      const SoftmaxPair pair = gaussian::softmax::integrate_pair(t, t, tau2, 1.0);
      CHECK(std::abs(pair.overlap.value - one.p2.value) <= pair.overlap.error + one.p2.error);
      CHECK(std::abs(pair.a_prime.value - one.a.value) <= pair.a_prime.error + one.a.error);
    }
  }
}

TEST_CASE("the integrals over two rows agree with reference digits") {
  int compared = 0;
  for (const SoftmaxReference& row : softmax_reference()) {
    if (row.correlation.empty()) continue;
    CAPTURE(row.tau2);
    CAPTURE(row.correlation);
    const SoftmaxPair pair = softmax_pair(row.keys, row.tau2, std::stod(row.correlation));
    const Estimate value = row.quantity == "overlap" ? pair.overlap : pair.a_prime;
    CHECK(std::abs(value.value - row.value) <= value.error);
    CHECK(relative_error(value) < softmax_share);
    ++compared;
  }
  CHECK(compared == 12);
}

TEST_CASE("the error of two rows is honest and small") {
  for (const std::int64_t keys : kKeys) {
    for (const double tau2 : kVariances) {
      for (const double c : kCorrelations) {
        CAPTURE(keys);
        CAPTURE(tau2);
        CAPTURE(c);
        const double t = static_cast<double>(keys);
        const SoftmaxPair pair = softmax_pair(keys, tau2, c);
        const SoftmaxPair finer = gaussian::softmax::integrate_pair(t, t, tau2, c, 1.6);
        CHECK(std::abs(pair.overlap.value - finer.overlap.value) <= pair.overlap.error);
        CHECK(std::abs(pair.a_prime.value - finer.a_prime.value) <= pair.a_prime.error);
        CHECK(relative_error(pair.overlap) < softmax_share);
        CHECK(relative_error(pair.a_prime) < softmax_share);
      }
    }
  }
}

// By Price, dO/dc = tau2 A'. The central difference is wrong by h^2/6 O''', and by the integrals'
// errors over h; O''' <= (tau2)^3 times a number of the order of O.
TEST_CASE("A' is the slope of O") {
  for (const auto& [fewer, more] : {std::pair{2, 2}, {16, 16}, {1000, 1000}, {3, 11}, {40, 41}}) {
    for (const double tau2 : {0.2, 2.0, 12.0}) {
      for (const double c : {-0.6, 0.0, 0.5, 0.95}) {
        CAPTURE(fewer);
        CAPTURE(more);
        CAPTURE(tau2);
        CAPTURE(c);
        const double h = 2e-3 / std::max(1.0, tau2);
        const Estimate up = softmax_pair(fewer, more, tau2, c + h).overlap;
        const Estimate down = softmax_pair(fewer, more, tau2, c - h).overlap;
        const SoftmaxPair pair = softmax_pair(fewer, more, tau2, c);
        const double slope = (up.value - down.value) / (2.0 * h * tau2);
        const double allowed = (up.error + down.error) / (2.0 * h * tau2) +
                               h * h * tau2 * tau2 * pair.overlap.value + pair.a_prime.error;
        CHECK(std::abs(slope - pair.a_prime.value) <= allowed);
        CHECK(allowed < 1e-3 * pair.a_prime.value);
      }
    }
  }
}

TEST_CASE("rows agree more, the more their scores do") {
  for (const std::int64_t keys : kKeys) {
    for (const double tau2 : kVariances) {
      double previous = 0;
      for (const double c : {-1.0, -0.9, -0.3, 0.0, 0.2, 0.7, 0.99, 1.0}) {
        const double overlap = softmax_pair(keys, tau2, c).overlap.value;
        CHECK(overlap > previous);
        previous = overlap;
      }
    }
  }
}

TEST_CASE("the two ways of integrating meet at no correlation") {
  for (const auto& [fewer, more] : {std::pair{2, 2}, {64, 64}, {3, 50}}) {
    for (const double tau2 : kVariances) {
      const SoftmaxPair below = softmax_pair(fewer, more, tau2, -1e-9);
      const SoftmaxPair above = softmax_pair(fewer, more, tau2, 1e-9);
      CHECK(relative(below.overlap.value, above.overlap.value) < softmax_share / 10);
      CHECK(relative(below.a_prime.value, above.a_prime.value) < softmax_share);
    }
  }
}

// The first row has the shared keys only; with a few more in the second its weights there shrink.
TEST_CASE("rows with different numbers of keys") {
  for (const double tau2 : {0.5, 3.5, 200.0}) {
    for (const double c : {-0.5, 0.0, 0.6, 1.0}) {
      const SoftmaxPair same = softmax_pair(10, 10, tau2, c);
      double previous = same.overlap.value;
      for (const std::int64_t more : {11, 20, 1000, 1000000}) {
        const SoftmaxPair pair = softmax_pair(10, more, tau2, c);
        CHECK(pair.overlap.value < previous);
        CHECK(pair.a_prime.value > 0.0);
        CHECK(relative_error(pair.overlap) < softmax_share);
        previous = pair.overlap.value;
      }
    }
  }
  CHECK(softmax_pair(3, 12, 5.0, 0.0).overlap.value == 1.0 / 12.0);
}

TEST_CASE("opposite scores of many keys overlap next to nothing, and are still found") {
  const SoftmaxPair pair = softmax_pair(1000, 1000.0, -1.0);
  CHECK(pair.overlap.value > 0.0);
  CHECK(pair.overlap.value < 1e-60);  // e^(-2 tau) of many keys and less: nothing beside 1
  const SoftmaxPair finer = gaussian::softmax::integrate_pair(1000, 1000, 1000.0, -1.0, 1.5);
  CHECK(std::abs(pair.overlap.value - finer.overlap.value) <= pair.overlap.error);
}

TEST_CASE("corners that ask for finer lattices") {
  for (const auto& [fewer, more, tau2, c] : {std::tuple{2, 40077, 281.0, 0.999994},
                                             {4, 168111, 184.0, 0.997},
                                             {6, 2633, 900.0, -0.999993},
                                             {23278, 23278, 883.0, -0.9999},
                                             {363946, 363946, 5.62, -0.055}}) {
    const SoftmaxPair pair = softmax_pair(fewer, more, tau2, c);
    CHECK(relative_error(pair.overlap) < softmax_share);
    CHECK(relative_error(pair.a_prime) < softmax_share);
  }
}

TEST_CASE("what two rows cannot be is named") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(softmax_pair(8, 1.0, 1.001), Error);
  CHECK_THROWS_AS(softmax_pair(8, 1.0, nan), Error);
  CHECK_THROWS_AS(softmax_pair(8, nan, 0.5), Error);
  CHECK_THROWS_AS(softmax_pair(0, 3, 1.0, 0.5), Error);
  CHECK_THROWS_WITH(softmax_pair(9, 3, 1.0, 0.5),
                    "rows of 9 and 3 keys (keys); the row with fewer keys comes first");
}
