#include <algorithm>
#include <array>
#include <random>

#include "../moments/sample.hpp"
#include "softmax_support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

struct Sampled {
  Sample p2, a, p22, s, m2, along, q1, overlap, a_prime, square, along_both;
};

/// Gaussian keys in `n` dimensions, normed; queries e_1 and c e_1 + (1 - c^2)^(1/2) e_2.
Sampled sample(int n, int fewer, int more, double tau2, double c, int draws) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n * 1000 + more));
  std::normal_distribution<double> normal;
  Sampled out;
  std::vector<double> first, second, along, z, other_z;
  for (int draw = 0; draw < draws; ++draw) {
    for (auto* of : {&first, &second, &along, &z, &other_z}) of->clear();
    for (int s = 0; s < more; ++s) {
      std::vector<double> k(static_cast<std::size_t>(std::max(n, 2)), 0.0);
      double square = 0;
      for (int i = 0; i < n; ++i) {
        k[static_cast<std::size_t>(i)] = normal(random);
        square += k[static_cast<std::size_t>(i)] * k[static_cast<std::size_t>(i)];
      }
      z.push_back(k[0] * std::sqrt(n / square));
      other_z.push_back((c * k[0] + std::sqrt(1 - c * c) * k[1]) * std::sqrt(n / square));
      first.push_back(std::exp(std::sqrt(tau2) * z.back()));
      second.push_back(std::exp(std::sqrt(tau2) * other_z.back()));
      along.push_back(k[0]);
    }
    double sum = 0, other = 0;
    for (int s = 0; s < fewer; ++s) sum += first[static_cast<std::size_t>(s)];
    for (const double e : second) other += e;
    double p2 = 0, p3 = 0, p4 = 0, pz = 0, overlap = 0, left = 0, right = 0;
    for (int at = 0; at < fewer; ++at) {
      const auto s = static_cast<std::size_t>(at);
      const double p = first[s] / sum, q = second[s] / other;
      p2 += p * p;
      p3 += p * p * p;
      p4 += p * p * p * p;
      pz += p * along[s];
      overlap += p * q;
      left += p * p * q;
      right += p * q * q;
    }
    double one = 0, both = 0, own = 0;
    for (int at = 0; at < fewer; ++at) {
      const auto s = static_cast<std::size_t>(at);
      const double p = first[s] / sum, q = second[s] / other;
      own += p * p * (z[s] * z[s] - 1);
      one += p * p * (1 - 2 * p + p2) * z[s] * z[s];
      both += p * q * (1 - p - q + overlap) * z[s] * other_z[s];
    }
    out.q1.add(own);
    out.along.add(one);
    out.along_both.add(both);
    out.p2.add(p2);
    out.a.add(p2 - 2 * p3 + p2 * p2);
    out.p22.add(p2 * p2);
    out.s.add(p2 - 2 * p3 + p4);
    out.m2.add(pz * pz);
    out.overlap.add(overlap);
    out.a_prime.add(overlap - left - right + overlap * overlap);
    out.square.add(overlap * overlap);
  }
  return out;
}

}  // namespace

// 11 numbers of 36 sets: one is beyond 5 standard errors in 5000 runs.
TEST_CASE("rows of unit vectors are those that are sampled") {
  for (const int n : {1, 2, 3, 8, 20}) {
    for (const double tau2 : {0.01, 1.0, 9.0}) {
      for (const double c : {-0.6, 0.0, 0.8}) {
        if (n == 1) continue;
        CAPTURE(n);
        CAPTURE(tau2);
        CAPTURE(c);
        const SoftmaxOnSphere rows(n, {{4, tau2}, {9, tau2}}, true);
        const SoftmaxOnSphere::One one = rows.one(0);
        const SoftmaxOnSphere::Two two = rows.two(1, 0, c);
        const Sampled sampled = sample(n, 4, 9, tau2, c, 20000);
        const auto close = [](const Sample& sampled_value, double value) {
          CHECK(std::abs(sampled_value.mean() - value) < 5 * sampled_value.standard_error() + 1e-7);
        };
        close(sampled.p2, one.p2);
        close(sampled.a, one.a);
        close(sampled.p22, one.p22);
        close(sampled.s, one.s);
        close(sampled.m2, one.m2);
        close(sampled.along, one.along);
        close(sampled.q1, one.q1);
        close(sampled.along_both, two.along);
        close(sampled.overlap, two.overlap);
        close(sampled.a_prime, two.a_prime);
        close(sampled.square, two.square);
      }
    }
  }
}

// Two keys of one feature have scores of the same size: p = 1/2 or 1/(1 + e^(-2 tau)).
TEST_CASE("unit vectors of one dimension are signs") {
  const double tau2 = 0.7, p = 1 / (1 + std::exp(-2 * std::sqrt(tau2)));
  const SoftmaxOnSphere rows(1, {{2, tau2}}, true);
  const double p2 = 0.5 * 0.5 + 0.5 * (p * p + (1 - p) * (1 - p));
  CHECK(std::abs(rows.one(0).p2 - p2) < rows.one(0).error);
  CHECK(std::abs(rows.two(0, 0, -1).overlap - (0.25 + p * (1 - p))) < rows.two(0, 0, -1).error);
}

TEST_CASE("two rows of one unit vector are one, of vectors at random they share nothing more") {
  for (const double n : {1.5, 2.0, 7.3, 40.0}) {
    for (const double tau2 : {0.01, 1.0, 16.0}) {
      CAPTURE(n);
      CAPTURE(tau2);
      const SoftmaxOnSphere rows(n, {{6, tau2}}, true);
      const SoftmaxOnSphere::One one = rows.one(0);
      const SoftmaxOnSphere::Two two = rows.two(0, 0, 1);
      CHECK(std::abs(two.overlap - one.p2) < 10 * (one.error + two.error));
      CHECK(std::abs(two.a_prime - one.a) < 40 * (one.error + two.error));
      CHECK(std::abs(two.square - one.p22) < 10 * (one.error + two.error));
    }
  }
}

// The fourth cumulant is -6/(n + 2) of the square of the variance, and H_P2/24 what it adds.
TEST_CASE("many dimensions are Gaussian scores and what their fourth cumulant adds") {
  const double tau2 = 1, n = 1000;
  const SoftmaxOrders gaussian = softmax_orders(9, tau2);
  const SoftmaxOnSphere::One one = SoftmaxOnSphere(n, {{9, tau2}}, false).one(0);
  const double cumulant = -6 / (n + 2);
  const double next = cumulant * cumulant;
  CHECK(std::abs(one.p2 - gaussian.p2 - cumulant / 24 * gaussian.hp2) < next * gaussian.p2);
  CHECK(std::abs(one.a - gaussian.a - cumulant / 24 * gaussian.ha) < next * gaussian.a);
}

TEST_CASE("unit vectors outside the range are refused") {
  CHECK_THROWS_AS(SoftmaxOnSphere(0.5, {{4, 1}}, false), Error);
  CHECK_THROWS_AS(SoftmaxOnSphere(64, {{4, 100}}, false), Error);
  CHECK_THROWS_AS(SoftmaxOnSphere(8, {{0, 1}}, false), Error);
  CHECK_THROWS_AS(SoftmaxOnSphere(8, {{4, 1}}, true).two(0, 0, 1.1), Error);
  CHECK_FALSE(SoftmaxOnSphere::covers(64, 26));
  CHECK(SoftmaxOnSphere::covers(64, 25));
}
