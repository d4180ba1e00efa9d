#include "moments/head_lengths.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

using namespace scalecalc;
using namespace scalecalc::moments;

namespace {

/// E f(X), X chi^2 of `features` over their number, by a sum over equal steps of ln X.
double over_lengths(double features, const std::function<double(double)>& f) {
  const double k = features / 2, step = 0.05;
  double sum = 0, weights = 0;
  for (double at = -60; at < 5; at += step) {
    const double x = std::exp(at), weight = std::exp(k * (at - x));
    sum += weight * f(x);
    weights += weight;
  }
  return sum / weights;
}

Smallness wide(double features) {
  Smallness small;
  small.width = 1e12;
  small.head_width = features;
  small.averaged = true;
  return small;
}

constexpr std::int64_t keys = 9;

}  // namespace

// By finer steps. The ends of the density that the rule leaves to its last points are 1e-3 of it.
TEST_CASE("a row averaged over the length of its query") {
  for (const double features : {1.0, 2.0, 3.0, 8.0, 16.0}) {
    for (const double tau2 : {0.1, 1.0, 4.0}) {
      CAPTURE(features);
      CAPTURE(tau2);
      const AveragedRow row = HeadLengths(features).row(keys, tau2, 0.3, 1, wide(features));
      const auto of = [&](auto member, int power) {
        return over_lengths(features, [&](double x) {
          return std::pow(x, power) * softmax_orders(keys, x * tau2).*member;
        });
      };
      const double a = of(&SoftmaxOrders::a, 0), b = of(&SoftmaxOrders::b, 0);
      const auto close = [](double value, double expected, double omitted) {
        CHECK(std::abs(value - expected) <= (omitted + 1e-3) * expected);
      };
      const RowFactors<double>& factors = row.factors;
      close(factors.mix, of(&SoftmaxOrders::p2, 0), factors.omitted_value);
      close(factors.query, a + (b - a) / features, factors.omitted_score);
      close(factors.key, of(&SoftmaxOrders::a, 1), factors.omitted_score);
      close(row.orders.p2_slope, of(&SoftmaxOrders::p2_slope, 1), factors.omitted_score);
      CHECK(factors.omitted_value < 0.01 * tau2);
    }
  }
}

TEST_CASE("two rows of one query are one row, of many features they are at their mean") {
  const double tau2 = 1.5;
  const SoftmaxAverages mean = softmax_averages(keys, tau2, 0.4);
  const HeadLengths few(3), many(1e6);
  const AveragedRow row = few.row(keys, tau2, 0.3, 1, wide(3));
  const AveragedPair one = PairLengths(few, {keys}, {tau2}, 1)(0, 0, 1, 1, mean.two);
  // Of the grid: seven points of the length, eight of the angle.
  const double grid = 2e-3;
  CHECK(std::abs(one.overlaps.overlap / row.orders.p2 - 1) < grid);
  CHECK(std::abs(one.overlaps.a_prime * one.cosine / row.factors.key - 1) < 5 * grid);
  const AveragedPair two = PairLengths(many, {keys}, {tau2}, 1)(0, 0, 0.4, 1, mean.two);
  CHECK(std::abs(two.overlaps.overlap / mean.two.overlap - 1) < grid);
  CHECK(std::abs(two.overlaps.a_prime / mean.two.a_prime - 1) < grid);
  CHECK(std::abs(two.cosine - 0.4) < grid);
}

// P2 - O of small tau2 is tau2 (1 - rho)(1 - 1/T)/T: what is left where tokens become one.
TEST_CASE("differences of flat rows") {
  const double tau2 = 1e-6, slope = (1 - 1.0 / keys) / keys;
  for (const double features : {1.0, 2.0, 4.0, 16.0}) {
    for (const double rho : {0.0, 0.5, 0.99}) {
      CAPTURE(features);
      CAPTURE(rho);
      const HeadLengths lengths(features);
      const SoftmaxAverages mean = softmax_averages(keys, tau2, rho);
      const double p2 = lengths.row(keys, tau2, 0, 1, wide(features)).orders.p2;
      const double overlap =
          PairLengths(lengths, {keys}, {tau2}, 1)(0, 0, rho, 1, mean.two).overlaps.overlap;
      // Of integrals of eight and of seven digits.
      CHECK(std::abs((p2 - overlap) / slope - tau2 * (1 - rho)) <
            1e-3 * tau2 + 3e-7 / keys / slope);
    }
  }
}

// Beside integrals over lengths, of seven digits.
TEST_CASE("even rows are what rows of ever smaller variance come to") {
  const double tau2 = HeadLengths::even, digits = 1e-6;
  for (const double features : {1.0, 2.0, 4.0, 16.0}) {
    for (const double rho : {0.0, 0.5, 1.0}) {
      CAPTURE(features);
      CAPTURE(rho);
      const HeadLengths lengths(features);
      const SoftmaxAverages mean = softmax_averages(keys, tau2, rho);
      const AveragedPair even = lengths.even_pair(keys, tau2, rho, mean.two),
                         pair = PairLengths(lengths, {keys}, {tau2}, 1)(0, 0, rho, 1, mean.two);
      const auto close = [&](double found, double expected) {
        CHECK(std::abs(found - expected) <= digits * std::max(std::abs(expected), digits));
      };
      close(even.overlaps.overlap, pair.overlaps.overlap);
      close(even.overlaps.a_prime, pair.overlaps.a_prime);
      close(even.overlaps.square, pair.overlaps.square);
      CHECK(std::abs(even.cosine - pair.cosine) <= digits);
      CHECK(std::abs(even.along - pair.along) <= digits);
      CHECK(even.omitted <= pair.omitted);
      const AveragedRow row = lengths.row(keys, tau2, 0.3, 1, wide(features)),
                        next = lengths.row(keys, 2 * tau2, 0.3, 1, wide(features));
      close(row.factors.mix, next.factors.mix);
      close(row.factors.query, next.factors.query);
      close(row.factors.key, next.factors.key);
      close(row.factors.value, next.factors.value);
      close(row.factors.score, next.factors.score);
    }
  }
}

// E sign sign' of two Gaussians is 2/pi asin rho, and a score of one feature is k q.
// A layer beside one that is known takes its grid, which each says the error of.
TEST_CASE("pairs of a variance beside a known one are those of a grid of their own") {
  for (const double features : {1.0, 2.0, 4.0, 16.0}) {
    const HeadLengths lengths(features);
    for (const double tau2 : {0.05, 0.5, 1.5}) {
      for (const double times : {1.0, 0.93, 1.08}) {
        for (const double rho : {0.2, 0.9}) {
          EqualPairLengths known;
          const SoftmaxAverages at_first = softmax_averages(keys, tau2, rho),
                                mean = softmax_averages(keys, times * tau2, rho);
          known(lengths, keys, tau2, rho, 1, at_first.two);
          const AveragedPair found = known(lengths, keys, times * tau2, rho, 1, mean.two),
                             own = PairLengths(lengths, {keys}, {times * tau2}, 1)(0, 0, rho, 1,
                                                                                   mean.two);
          CAPTURE(features);
          CAPTURE(tau2);
          CAPTURE(times);
          const double error = found.omitted + own.omitted + 1e-6;
          CHECK(std::fabs(found.overlaps.overlap / own.overlaps.overlap - 1) <= error);
          CHECK(std::fabs(found.overlaps.a_prime / own.overlaps.a_prime - 1) <= error);
          CHECK(std::fabs(found.cosine - own.cosine) <= error);
        }
      }
    }
  }
}

TEST_CASE("heads of one feature") {
  const double tau2 = 0.01, rho = 0.6;
  const SoftmaxAverages mean = softmax_averages(keys, tau2, rho);
  const HeadLengths lengths(1);
  const AveragedPair pair = PairLengths(lengths, {keys}, {tau2}, 1)(0, 0, rho, 1, mean.two);
  // O = 1/T + tau2 c (1 - 1/T)/T for small tau2, and E |q q'| c = rho.
  const double slope = (1 - 1.0 / keys) / keys;
  CHECK(std::abs(pair.overlaps.overlap - 1.0 / keys - tau2 * rho * slope) <
        20 * tau2 * tau2 * slope);
}
