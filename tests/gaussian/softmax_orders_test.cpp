#include <array>

#include "gaussian/softmax/orders.hpp"
#include "softmax_draws.hpp"
#include "softmax_support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

/// What the integrals stand for, of one drawn row (docs/theory/softmax.md#orders): h_k is the
/// average with the sum of He4 over all keys, zz_k that with He2 of the key itself.
std::array<double, 8> averages_of(const DrawnRow& row) {
  const double p2 = row.sum(2), p3 = row.sum(3);
  double fourth = 0, mean = 0, own = 0, inside = 0, centred = 0, s = 0, jp = 0;
  for (std::size_t k = 0; k < row.p.size(); ++k) {
    const double z = row.z[k], p = row.p[k], he2 = z * z - 1;
    fourth += z * z * z * z - 6 * z * z + 3;
    mean += p * z;
    own += p * p * he2;
    inside += he2 * p * p * (1 - 2 * p + p2);
    s += p * p * (1 - p) * (1 - p);
    jp += p * p * (p - p2) * (p - p2);
  }
  for (std::size_t k = 0; k < row.p.size(); ++k)
    centred += row.p[k] * row.p[k] * (row.z[k] - mean) * (row.z[k] - mean);
  return {mean * mean, centred, p2 * fourth, (p2 - 2 * p3 + p2 * p2) * fourth, own, inside, s, jp};
}

std::array<double, 8> values_of(const SoftmaxOrders& orders) {
  return {orders.m2, orders.b, orders.hp2, orders.ha, orders.q1, orders.q2, orders.s, orders.jp};
}

}  // namespace

// 96 numbers: beyond 5 standard errors once in 20,000 runs.
TEST_CASE("the next orders of a row agree with draws") {
  for (const std::size_t keys : {2, 3, 8, 40}) {
    for (const double tau2 : {0.1, 1.0, 5.0}) {
      CAPTURE(keys);
      CAPTURE(tau2);
      RowDraws draws(keys);
      std::array<Tally, 8> tallies;
      for (int i = 0; i < 40000; ++i) {
        const auto values = averages_of(RowDraws::row(draws.normals(keys), std::sqrt(tau2)));
        for (std::size_t k = 0; k < values.size(); ++k) tallies[k].add(values[k]);
      }
      const SoftmaxOrders orders = softmax_orders(static_cast<std::int64_t>(keys), tau2);
      const auto values = values_of(orders);
      for (std::size_t k = 0; k < values.size(); ++k) {
        CAPTURE(k);
        CHECK(std::abs(values[k] - tallies[k].mean()) <= 5 * tallies[k].error() + orders.error);
      }
    }
  }
}

TEST_CASE("the orders of a row agree with the finer integrals") {
  for (const std::int64_t keys : {1, 2, 3, 24, 1000, 1000000}) {
    for (const double tau2 : {0.0, 1e-9, 1e-3, 0.06, 0.07, 0.5, 3.5, 30.0, 300.0}) {
      CAPTURE(keys);
      CAPTURE(tau2);
      const SoftmaxOrders orders = softmax_orders(keys, tau2);
      const SoftmaxOne one = softmax_one(keys, tau2);
      const double t2 = 1 - 2 * one.p2.value + one.p22.value;
      CHECK(std::abs(orders.p2 - one.p2.value) <= orders.error + one.p2.error);
      CHECK(std::abs(orders.a - one.a.value) <= 4 * orders.error + one.a.error);
      CHECK(std::abs(orders.t2 - t2) <= 4 * orders.error + 3 * one.p2.error);
      CHECK(orders.error <= softmax_share * orders.p2);
    }
  }
}

// The central difference over h misses h^2/6 of the third derivative, which is below the value
// times a power of 1/tau2; the differences' own errors are divided by h.
TEST_CASE("slopes and curvatures are those of P2 and A") {
  for (const std::int64_t keys : {2, 12, 300}) {
    for (const double tau2 : {0.02, 0.5, 3.0, 20.0}) {
      CAPTURE(keys);
      CAPTURE(tau2);
      const double h = 1e-3 * tau2;
      const SoftmaxOrders at = softmax_orders(keys, tau2), up = softmax_orders(keys, tau2 + h),
                          down = softmax_orders(keys, tau2 - h);
      const auto slope = [&](double right, double left) { return (right - left) / (2 * h); };
      const double first = 1e-6 * at.p2 / tau2 + 2 * at.error / h;
      const double second = 1e-5 * at.p2 / (tau2 * tau2) + 2 * at.error / (h * tau2);
      CHECK(std::abs(slope(up.p2, down.p2) - at.p2_slope) <= first);
      CHECK(std::abs(slope(up.a, down.a) - at.a_slope) <= first);
      CHECK(std::abs(slope(up.p2_slope, down.p2_slope) - at.p2_curvature) <= second);
      CHECK(std::abs(slope(up.a_slope, down.a_slope) - at.a_curvature) <= second);
    }
  }
}

TEST_CASE("equal weights, and one key") {
  const SoftmaxOrders flat = softmax_orders(8, 0.0);
  const double p = 0.125;
  CHECK(relative(flat.m2, p) < stated_share_p2);
  CHECK(relative(flat.b, p * (1 - p)) < softmax_share / 10);
  CHECK(relative(flat.s, p * (1 - p) * (1 - p)) < stated_share_p2);
  CHECK(flat.hp2 == 0.0);
  CHECK(flat.q1 == 0.0);
  // P2 = (1 + tau2 (1 - 1/T))/T at first.
  CHECK(relative(flat.p2_slope, p * (1 - p)) < 1e-7);
  const SoftmaxOrders one = softmax_orders(1, 2.0);
  CHECK(relative(one.m2, 1.0) < stated_share_p2);
  CHECK(std::abs(one.a) < softmax_share / 10);
  CHECK(std::abs(one.b) < softmax_share);
  CHECK(std::abs(one.q1) < softmax_share);
}

// Halving the steps of both lattices leaves the integral. All of these but P2 and A come with a
// factor 1/d, or tau2^2/d.
TEST_CASE("every order holds on a finer lattice") {
  for (const double keys : {2.0, 24.0, 5000.0}) {
    for (const double tau2 : {1e-4, 0.05, 0.0626, 1.0, 8.0, 60.0}) {
      CAPTURE(keys);
      CAPTURE(tau2);
      const SoftmaxOrders usual =
          gaussian::softmax::integrate_orders(gaussian::softmax::Row(keys, tau2, 0));
      const SoftmaxOrders fine =
          gaussian::softmax::integrate_orders(gaussian::softmax::Row(keys, tau2, 0, 2.0));
      const auto a = values_of(usual), b = values_of(fine);
      for (std::size_t k = 0; k < a.size(); ++k) CHECK(std::abs(a[k] - b[k]) <= 5e-6 * fine.p2);
      const double curvatures = usual.a_curvature - fine.a_curvature;
      CHECK(std::abs(curvatures) * tau2 * tau2 <= 5e-6 * fine.p2);
    }
  }
}

TEST_CASE("rows that are none are refused") {
  CHECK_THROWS_AS(softmax_orders(0, 1.0), Error);
  CHECK_THROWS_AS(softmax_orders(3, -1.0), Error);
  CHECK_THROWS_AS(softmax_orders(3, std::nan("")), Error);
}
