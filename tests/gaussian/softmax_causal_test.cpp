#include "softmax_support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

/// The averages of softmax_causal, pair by pair.
struct Direct {
  double p2 = 0, a = 0, overlap = 0, a_prime = 0;
};
Direct direct(std::int64_t keys, double tau2, double c) {
  Direct sum;
  for (std::int64_t more = 1; more <= keys; ++more) {
    const SoftmaxOne one = softmax_one(more, tau2);
    sum.p2 += one.p2.value;
    sum.a += one.a.value;
    for (std::int64_t fewer = 1; fewer < more; ++fewer) {
      const SoftmaxPair pair = softmax_pair(fewer, more, tau2, c);
      sum.overlap += pair.overlap.value;
      sum.a_prime += pair.a_prime.value;
    }
  }
  const double rows = static_cast<double>(keys), pairs = 0.5 * rows * (rows - 1.0);
  return {sum.p2 / rows, sum.a / rows, sum.overlap / pairs, sum.a_prime / pairs};
}

}  // namespace

TEST_CASE("causal averages are those of the rows, one by one") {
  for (const std::int64_t keys : {3, 4, 9, 30}) {
    for (const double tau2 : {0.3, 6.0}) {
      for (const double c : {-0.4, 0.0, 0.7}) {
        CAPTURE(keys);
        CAPTURE(tau2);
        CAPTURE(c);
        const CausalSoftmax average = softmax_causal(keys, tau2, c);
        const Direct exact = direct(keys, tau2, c);
        CHECK(std::abs(average.p2.value - exact.p2) <= average.p2.error);
        CHECK(std::abs(average.a.value - exact.a) <= average.a.error);
        CHECK(std::abs(average.overlap.value - exact.overlap) <= average.overlap.error);
        CHECK(std::abs(average.a_prime.value - exact.a_prime) <= average.a_prime.error);
        CHECK(relative_error(average.overlap) < 1e-5);
        CHECK(relative_error(average.a_prime) < 1e-5);
      }
    }
  }
}

// Equal weights 1/n: the mean of 1/n is H_T/T, and T/2 mean(O) (T-1) = sum (n-1)/n = T - H_T.
TEST_CASE("causal averages without spread, in closed form") {
  for (const std::int64_t keys : {2, 10, 5000, 1000000}) {
    double harmonic = 0, squares = 0;
    for (std::int64_t n = keys; n >= 1; --n) {
      const double reciprocal = 1.0 / static_cast<double>(n);
      harmonic += reciprocal;
      squares += reciprocal * reciprocal;
    }
    const double t = static_cast<double>(keys), pairs = 0.5 * t * (t - 1.0);
    for (const CausalSoftmax& average :
         {softmax_causal(keys, 0.0, 0.3), softmax_causal(keys, 0.0, 1.0)}) {
      CHECK(relative(average.p2.value, harmonic / t) < 1e-7);
      CHECK(relative(average.a.value, (harmonic - squares) / t) < 1e-7);
      CHECK(relative(average.overlap.value, (t - harmonic) / pairs) < 2e-7);
    }
    // Independent scores overlap by 1/n whatever their spread.
    const CausalSoftmax average = softmax_causal(keys, 4.0, 0.0);
    CHECK(relative(average.overlap.value, (t - harmonic) / pairs) < 2e-7);
  }
}

TEST_CASE("long causal rows state an error below a thousandth") {
  const CausalSoftmax average = softmax_causal(1000000, 1.0, 0.5);
  CHECK(relative_error(average.p2) < 1e-3);
  CHECK(relative_error(average.overlap) < 1e-3);
  CHECK(relative_error(average.a_prime) < 1e-3);
}

TEST_CASE("one causal row has no pairs") {
  const CausalSoftmax one = softmax_causal(1, 2.0, 0.5);
  CHECK(one.p2.value == 1.0);
  CHECK(one.overlap.value == 1.0);
  CHECK(one.a.value == 0.0);
  CHECK(one.a_prime.value == 0.0);
  const CausalSoftmax two = softmax_causal(2, 2.0, 0.5);
  CHECK(two.p2.value == doctest::Approx(0.5 + 0.5 * softmax_one(2, 2.0).p2.value).epsilon(1e-7));
  CHECK(two.overlap.value == 0.5);
  CHECK(two.a_prime.value == 0.0);
  CHECK_THROWS_AS(softmax_causal(0, 1.0, 0.5), Error);
  CHECK_THROWS_AS(softmax_causal(5, 1.0, -1.5), Error);
}
