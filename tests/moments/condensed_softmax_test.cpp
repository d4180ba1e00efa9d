#include "moments/condensed_softmax.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

namespace scalecalc::moments {
namespace {

/// E f(p) of two keys, p the share of the first, by the trapezoid rule in the gap of both scores,
/// of variance 2 tau2; f falls as e^(-|gap|), so that its derivatives make the error e^(-2
/// pi^2/step).
template <class F>
double of_two_keys(double tau2, const F& f) {
  constexpr double step = 0.5, last = 60;
  double sum = 0;
  for (double gap = -last; gap <= last; gap += step) {
    const double p = 1 / (1 + std::exp(-gap));
    sum += step * f(p) * std::exp(-gap * gap / (4 * tau2));
  }
  return sum / std::sqrt(4 * std::numbers::pi * tau2);
}

/// What is taken for flat is e^(-gap^2/(4 tau2)), with gap^2 about pi^2/3 where p (1 - p) is.
double flatness(double tau2) {
  return std::numbers::pi * std::numbers::pi / 3 / (4 * tau2);
}

}  // namespace

TEST_CASE("condensed scores: two keys against the integral") {
  for (const double tau2 : {1500.0, 1e4, 1e6}) {
    CAPTURE(tau2);
    const SoftmaxOrders found = condensed_averages(2, tau2, 0.5).one;
    const auto close = [&](double value, double expected) {
      CHECK(std::fabs(value - expected) <= flatness(kMostVariance) * std::fabs(expected));
    };
    close(1 - found.p2, of_two_keys(tau2, [](double p) { return 2 * p * (1 - p); }));
    close(found.a, of_two_keys(tau2, [](double p) { return 4 * p * p * (1 - p) * (1 - p); }));
    close(found.t2, of_two_keys(tau2, [](double p) { return 4 * p * p * (1 - p) * (1 - p); }));
  }
}

TEST_CASE("condensed scores: join what the integrals cover") {
  for (const double c : {0.0, 0.5, 0.99, 1.0}) {
    CAPTURE(c);
    const SoftmaxAverages below = condensed_averages(16, kMostVariance, c),
                          above = condensed_averages(16, kMostVariance * (1 + 1e-9), c);
    // The correlation moves by up to 0.02 where one regime takes over from the other.
    const double moved = c > 0.9 && c < 1 ? 0.02 : 1e-6;
    CHECK(std::fabs(above.one.p2 - below.one.p2) <= 1e-6);
    CHECK(std::fabs(above.two.overlap - below.two.overlap) <= moved);
  }
}

TEST_CASE("condensed scores: a derivative in tau2 is one") {
  for (const double tau2 : {2000.0, 5e4}) {
    const double step = 1e-3 * tau2;
    const auto at = [](double x) { return condensed_averages(8, x, 0).one; };
    const double slope = (at(tau2 + step).p2 - at(tau2 - step).p2) / (2 * step);
    // 1 - P2 falls as tau2^(-1/2) here; at 1000 its slope says so up to the density of the gap.
    CHECK(std::fabs(at(tau2).p2_slope - slope) <=
          2 * std::sqrt(2 * std::log(8.0) / kMostVariance) * slope);
  }
}

// O and A' of two rows are found to 1e-7 of O (softmax_overlaps), one row's P2 and A to more
// digits; the largest is 1, and ten roundings of that allow for the way there.
TEST_CASE("condensed scores: two rows that are one have its moments") {
  constexpr double digits = 1e-7, steps = 10;
  for (const double tau2 : {3000.0, 1e8}) {
    const SoftmaxAverages one = condensed_averages(8, tau2, 1);
    CHECK(std::fabs(one.two.overlap - one.one.p2) <= steps * digits);
    CHECK(std::fabs(one.two.a_prime - one.one.a) <= steps * digits);
  }
}

}  // namespace scalecalc::moments
