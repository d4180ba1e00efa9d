#include "gaussian/softmax/one.hpp"

#include <limits>

#include "softmax_support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

const std::vector<std::int64_t> kKeys = {2, 3, 8, 64, 1000, 1000000};
const std::vector<double> kVariances = {1e-8, 0.003, 0.07, 0.5, 3.5, 20.0, 200.0, 1000.0};

}  // namespace

TEST_CASE("equal scores give equal weights") {
  for (const std::int64_t keys : {1, 2, 7, 1000000}) {
    const SoftmaxOne one = softmax_one(keys, 0.0);
    const double p = 1.0 / static_cast<double>(keys);
    CHECK(one.p2.value == p);
    CHECK(one.p2.error == 0.0);
    CHECK(one.p3.value == p * p);
    CHECK(one.a.value == p * (1.0 - p));
  }
}

TEST_CASE("one key has all the weight") {
  const SoftmaxOne one = softmax_one(1, 3.5);
  CHECK(one.p2.value == 1.0);
  CHECK(one.p4.value == 1.0);
  CHECK(one.a.value == 0.0);
}

TEST_CASE("the integrals over one row agree with reference digits") {
  int compared = 0;
  for (const SoftmaxReference& row : softmax_reference()) {
    if (!row.correlation.empty()) continue;
    CAPTURE(row.keys);
    CAPTURE(row.tau2);
    const SoftmaxOne one = softmax_one(row.keys, row.tau2);
    const Estimate value = row.quantity == "p2" ? one.p2 : row.quantity == "p3" ? one.p3 : one.p22;
    CHECK(std::abs(value.value - row.value) <= value.error);
    if (row.quantity == "p2") CHECK(relative_error(value) < stated_share_p2);
    ++compared;
  }
  CHECK(compared == 24);
}

// To five digits (docs/theory/softmax.md#derivation): P2 = 0.20491 at T = 32, tau2 = 3.5.
TEST_CASE("P2 of 32 keys at a variance of 3.5") {
  CHECK(std::abs(softmax_one(32, 3.5).p2.value - 0.20491) < 0.5e-5);
}

TEST_CASE("the error of one row is honest and small") {
  for (const std::int64_t keys : kKeys) {
    for (const double tau2 : kVariances) {
      CAPTURE(keys);
      CAPTURE(tau2);
      const SoftmaxOne one = softmax_one(keys, tau2);
      const SoftmaxOne finer =
          gaussian::softmax::integrate_one(static_cast<double>(keys), tau2, 2.0);
      CHECK(std::abs(one.p2.value - finer.p2.value) <= one.p2.error);
      CHECK(std::abs(one.p3.value - finer.p3.value) <= one.p3.error);
      CHECK(std::abs(one.p4.value - finer.p4.value) <= one.p4.error);
      CHECK(std::abs(one.p22.value - finer.p22.value) <= one.p22.error);
      CHECK(std::abs(one.a.value - finer.a.value) <= one.a.error);
      CHECK(relative_error(one.p2) < stated_share_p2);
      CHECK(relative_error(one.a) < softmax_share);
    }
  }
}

TEST_CASE("weights condense as the scores spread, and thin out with more keys") {
  for (const std::int64_t keys : kKeys) {
    double previous = 1.0 / static_cast<double>(keys);
    for (const double tau2 : kVariances) {
      const double p2 = softmax_one(keys, tau2).p2.value;
      CHECK(p2 > previous);
      CHECK(p2 < 1.0);
      previous = p2;
    }
  }
  for (const double tau2 : kVariances) {
    for (std::size_t k = 0; k + 1 < kKeys.size(); ++k) {
      CHECK(softmax_one(kKeys[k], tau2).p2.value > softmax_one(kKeys[k + 1], tau2).p2.value);
    }
  }
}

// By Jensen and by p <= 1: P2^2 <= P22 <= P2, P2^2 <= P3 <= P22^(1/2) P2^(1/2), P4 <= P3.
TEST_CASE("the sums of powers are in order") {
  for (const std::int64_t keys : kKeys) {
    for (const double tau2 : kVariances) {
      const SoftmaxOne one = softmax_one(keys, tau2);
      const double slack = 1.0 + 1e-6;
      CHECK(one.p2.value * one.p2.value <= one.p22.value * slack);
      CHECK(one.p2.value * one.p2.value <= one.p3.value * slack);
      CHECK(one.p22.value <= one.p2.value);
      CHECK(one.p4.value <= one.p3.value);
      CHECK(one.a.value > 0.0);
    }
  }
}

// Small tau2: P2 = (1 + tau2 (1 - 1/T))/T + O(tau2^2).
TEST_CASE("the first order in the variance") {
  for (const std::int64_t keys : kKeys) {
    const double t = static_cast<double>(keys), tau2 = 1e-4;
    const double p2 = softmax_one(keys, tau2).p2.value;
    CHECK(std::abs(p2 * t - 1.0 - tau2 * (1.0 - 1.0 / t)) < 2.0 * tau2 * tau2);
  }
}

TEST_CASE("keys and variances out of range are named") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(softmax_one(0, 1.0), Error);
  CHECK_THROWS_AS(softmax_one(1000001, 1.0), Error);
  CHECK_THROWS_AS(softmax_one(8, -1e-9), Error);
  CHECK_THROWS_AS(softmax_one(8, 1001.0), Error);
  CHECK_THROWS_AS(softmax_one(8, nan), Error);
  CHECK_THROWS_WITH(softmax_one(8, 2000.0), "score variance 2000 (tau2); a number from 0 to 1000");
}

TEST_CASE("the lognormal form is the limit of many keys and small variance") {
  CHECK(softmax_p2_lognormal(32, 3.5) == printed(1.0349, 5e-5));
  CHECK(softmax_overlap_lognormal(10, 2.0, 0.5) == std::exp(1.0) / 10.0);
  // The next term is of the order of e^{4 tau2}/T.
  CHECK(relative(softmax_p2_lognormal(1000000, 0.1), softmax_one(1000000, 0.1).p2.value) < 1e-5);
  CHECK_THROWS_AS(softmax_overlap_lognormal(10, 2.0, 1.5), Error);
}
