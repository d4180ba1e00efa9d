#include "moments/own_word.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

namespace scalecalc::moments {

TEST_CASE("own word: a logistic function of a number that does not fluctuate") {
  const double rounding = 200 * std::numeric_limits<double>::epsilon();  // of a sum of 129 terms
  for (const double mean : {-3.0, 0.0, 2.0}) {
    const OwnShare share = own_share(mean, 0);
    const double p = 1 / (1 + std::exp(-mean));
    CHECK(share.mean == doctest::Approx(p).epsilon(rounding));
    CHECK(share.square == doctest::Approx(p * p).epsilon(rounding));
    CHECK(share.log_sum == doctest::Approx(-std::log(1 - p)).epsilon(rounding));
  }
}

TEST_CASE("own word: against draws of the softmax") {
  std::mt19937_64 bits(5);
  std::normal_distribution<double> normal;
  constexpr int draws = 400000;
  constexpr double mean = 1.5, deviation = 1.2;
  double p1 = 0, p2 = 0, log = 0, p4 = 0, log2 = 0;
  for (int i = 0; i < draws; ++i) {
    const double p = 1 / (1 + std::exp(-(mean + deviation * normal(bits))));
    p1 += p;
    p2 += p * p;
    p4 += p * p * p * p;
    log -= std::log1p(-p);
    log2 += std::log1p(-p) * std::log1p(-p);
  }
  const auto within = [&](double found, double sum, double squares) {
    const double average = sum / draws;
    const double error = std::sqrt((squares / draws - average * average) / draws);
    CHECK(std::fabs(found - average) < 5 * error);
  };
  const OwnShare share = own_share(mean, deviation * deviation);
  within(share.mean, p1, p2);
  within(share.square, p2, p4);
  within(share.log_sum, log, log2);
}

}  // namespace scalecalc::moments
