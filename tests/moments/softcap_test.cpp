#include "moments/softcap.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace scalecalc::moments;

namespace {

constexpr double kRounding = 64 * std::numeric_limits<double>::epsilon();

}  // namespace

TEST_CASE("softcap: no bend far from the cap, and the orders of a small one") {
  // phi = y - y^3/(3 c^2) + 2 y^5/(15 c^4): the next orders are of (Var y/c^2)^2 = 1e-8.
  const double variance = 2, cap = std::sqrt(variance * 1e4), bent = variance / (cap * cap);
  const double next = 64 * bent * bent;  // more than any coefficient of that order below
  const CapMoments of = cap_moments(cap, variance);
  CHECK(std::fabs(of.second / variance - (1 - 2 * bent)) < next);
  CHECK(std::fabs(of.slope - (1 - 2 * bent)) < next);
  CHECK(std::fabs(of.own / variance - (1 - 8 * bent)) < next);
  CHECK(std::fabs(of.bend + 2 * bent) < next);
  CHECK(std::fabs(of.tilted_bend + 2 * bent) < next);
  const ScoreCap scores = score_cap(cap, variance, variance / 2);
  CHECK(std::fabs(scores.forward - (1 - 2 * bent)) < next);
  CHECK(std::fabs(scores.backward - (1 - 2 * bent)) < next);
}

TEST_CASE("softcap: two equal tokens are one, and two opposite ones its negative") {
  for (const double cap : {0.5, 2.0, 30.0}) {
    const double variance = 1.5;
    const CapMoments of = cap_moments(cap, variance);
    for (const double sign : {1.0, -1.0}) {
      const CapPair pair = cap_pair(cap, variance, sign * variance);
      CHECK(std::fabs(pair.cross - sign * of.second) < kRounding * of.second);
      CHECK(std::fabs(pair.slope - of.slope) < kRounding);
    }
    CHECK(std::fabs(cap_pair(cap, variance, 0).cross) < kRounding);
  }
}

// Of two classes p_1 - 1 = -1/(1 + e^(a - b)) of logits a, b: sums over a grid of both.
TEST_CASE("softcap: the gradient of a loss knows which logits are bent") {
  constexpr double step = 0.25, most = 8;
  const double cap = 2, variance = 2.25, sigma = std::sqrt(variance);
  const double plain_sigma = std::sqrt(cap_moments(cap, variance).second);
  double capped = 0, plain = 0, hessian = 0, plain_hessian = 0, bend = 0, total = 0;
  for (double u = -most; u <= most; u += step)
    for (double v = -most; v <= most; v += step) {
      const double weight = std::exp(-(u * u + v * v) / 2);
      const auto other = [](double a, double b) { return 1 / (1 + std::exp(a - b)); };
      const double t = std::tanh(sigma * u / cap), slope = 1 - t * t;
      const double p = other(cap * t, cap * std::tanh(sigma * v / cap)),
                   q = other(plain_sigma * u, plain_sigma * v);
      capped += weight * slope * slope * ((1 - p) * (1 - p) + p * p) / 2;
      plain += weight * ((1 - q) * (1 - q) + q * q) / 2;
      hessian += weight * slope * slope * p * (1 - p);
      plain_hessian += weight * q * (1 - q);
      bend -= weight * 2 * t * slope / cap * (1 - p);
      total += weight;
    }
  const double slope = cap_moments(cap, variance).slope;
  const CappedLoss found = capped_loss(cap, variance, 2).value();
  // The trapezoid rule leaves e^(-pi^2 cap/(step sigma)) = 3e-17 of either sum, and e^(-2
  // pi^2/step)/step = 2e-34 of that over ln t, whose nearest poles are pi/2 away.
  constexpr double rounding = 1e3 * kRounding;  // of as many terms
  CHECK(std::fabs(found.square / (capped / (slope * plain)) - 1) < rounding);
  CHECK(std::fabs(found.hessian / (hessian / (slope * plain_hessian)) - 1) < rounding);
  CHECK(std::fabs(found.bend / (bend / total) - 1) < rounding);
  CHECK(!capped_loss(0.01, 1, 10));
  CHECK(!capped_loss(1e4, 1e6, 10));
  CHECK(!capped_loss(1, 0, 10));
  // Of a cap far past logits that are all but one nothing is left to count.
  const CappedLoss plain_loss = capped_loss(1e3, 1e-6, 2).value();
  CHECK(std::fabs(plain_loss.square - 1) < rounding);
  CHECK(std::fabs(plain_loss.hessian - 1) < rounding);
}

TEST_CASE("softcap: a cap far below the scores leaves their signs") {
  const double cap = 0.02;
  CHECK(cap_moments(cap, 1).second < cap * cap);
  // E tanh^2 = 1 - E sech^2, and sech^2(y/c) has the integral 2 c: 1 - 2 c/sqrt(2 pi) + O(c^3).
  const double least = 1 - 2 * cap / std::sqrt(2 * std::acos(-1.0));
  CHECK(std::fabs(cap_moments(cap, 1).second / (cap * cap) - least) < cap * cap);
  CHECK(std::fabs(cap_mean(cap, 100, 1).value - cap) < kRounding * cap);
}

TEST_CASE("softcap: a mean far past the cap stops, and without one nothing is new") {
  const double cap = 3, variance = 1.5;
  const CapMoments of = cap_moments(cap, variance);
  const CapMean plain = cap_mean(cap, 0, variance);
  CHECK(std::fabs(plain.value) < kRounding);
  CHECK(std::fabs(plain.second - of.second) < kRounding * of.second);
  CHECK(std::fabs(plain.slope_second - of.slope) < kRounding);
  // phi' = 4 e^{-2 y/c} far out, so that E phi'^2 = 16 e^{-4 m/c + 8 v/c^2} and less is left of
  // phi.
  const double mean = 30;
  const CapMean far = cap_mean(cap, mean, variance);
  const double slopes = 16 * std::exp(-4 * mean / cap + 8 * variance / (cap * cap));
  CHECK(std::fabs(far.slope_second / slopes - 1) <
        8 * std::exp(-2 * mean / cap + 20 * variance / (cap * cap)));
  CHECK(far.second - far.value * far.value < cap * cap * slopes);
}

namespace {

/// E f(y) of normal y by the trapezoid rule in steps of c/32: it leaves e^(-16 pi^2).
template <class F>
double by_sum(double cap, double mean, double sigma, const F& f) {
  const double h = cap / 32;
  const auto count = static_cast<int>(10 * sigma / h);
  double made = 0, total = 0;
  for (int k = -count; k <= count; ++k) {
    const double z = h * k / sigma, weight = std::exp(-z * z / 2);
    made += weight * f(mean + h * k);
    total += weight;
  }
  return made / total;
}

}  // namespace

TEST_CASE("softcap: sums over what a cap bends are those over all") {
  constexpr double sigma = 1.3;
  // Past 20 caps e^-40 is left, and as much of what is summed here; sums of as many terms round.
  constexpr double error = 1e5 * std::numeric_limits<double>::epsilon();
  for (const double cap : {0.02, 0.1, 0.3}) {
    CAPTURE(cap);
    const auto phi = [&](double y) { return cap * std::tanh(y / cap); };
    const auto slope = [&](double y) { return 1 - std::pow(std::tanh(y / cap), 2); };
    const auto bend = [&](double y) { return -2 * slope(y) * std::tanh(y / cap) / cap; };
    const auto sum = [&](double mean, const auto& f) { return by_sum(cap, mean, sigma, f); };
    const auto square = [&](double y) { return phi(y) * phi(y); };
    const CapMoments of = cap_moments(cap, sigma * sigma);
    CHECK(std::fabs(of.second / sum(0, square) - 1) < error);
    CHECK(std::fabs(of.slope / sum(0, [&](double y) { return slope(y) * slope(y); }) - 1) < error);
    CHECK(std::fabs(of.own / sum(0, [&](double y) { return square(y) * slope(y) * slope(y); }) -
                    1) < error);
    CHECK(std::fabs(of.bend / sum(0, [&](double y) { return phi(y) * bend(y); }) - 1) < error);
    const double tilted = sum(0, [&](double y) { return bend(y) * std::exp(phi(y)); }) /
                          sum(0, [&](double y) { return std::exp(phi(y)); });
    CHECK(std::fabs(of.tilted_bend - tilted) < error / cap);
    for (const double mean : {0.0, 0.05, -0.7, 3.0}) {
      CAPTURE(mean);
      const CapMean about = cap_mean(cap, mean, sigma * sigma);
      CHECK(std::fabs(about.value - sum(mean, phi)) < error * cap);
      CHECK(std::fabs(about.slope / sum(mean, slope) - 1) < error);
      CHECK(std::fabs(about.second / sum(mean, square) - 1) < error);
    }
    for (const double c : {0.2, 0.9, 0.999, -0.5}) {
      CAPTURE(c);
      const double both = sigma * std::sqrt(std::fabs(c)),
                   alone = sigma * std::sqrt(1 - std::fabs(c));
      const double step = std::min(0.1, cap / both / 8);
      double cross = 0, slopes = 0, total = 0;
      for (double z = -9; z <= 9; z += step) {
        const CapMean given = cap_mean(cap, both * z, alone * alone);
        const double weight = std::exp(-z * z / 2);
        cross += weight * given.value * given.value;
        slopes += weight * given.slope * given.slope;
        total += weight;
      }
      const CapPair pair = cap_pair(cap, sigma * sigma, c * sigma * sigma);
      CHECK(std::fabs(pair.cross - std::copysign(cross, c) / total) < error * cap * cap);
      CHECK(std::fabs(pair.slope / slopes * total - 1) < error);
    }
  }
}

// tanh is the sign, and its slope 2 c of a density, its square's 4c/3: the next orders are of c.
TEST_CASE("softcap: a cap of nearly nothing") {
  constexpr double cap = 1e-30, variance = 2, c = 0.5;
  const double pi = std::acos(-1.0), density = 1 / std::sqrt(2 * pi * variance);
  const CapMoments of = cap_moments(cap, variance);
  CHECK(std::fabs(of.second / (cap * cap) - 1) < kRounding);
  CHECK(std::fabs(of.slope / (4.0 / 3 * cap * density) - 1) < kRounding);
  CHECK(std::fabs(of.bend / (-4.0 / 3 * cap * density) - 1) < kRounding);
  CHECK(std::fabs(of.tilted_bend / of.bend - 1) < kRounding);
  const CapPair pair = cap_pair(cap, variance, c * variance);
  CHECK(std::fabs(pair.cross / (cap * cap * 2 / pi * std::asin(c)) - 1) < kRounding);
  const double both = 1 / (2 * pi * variance * std::sqrt(1 - c * c));
  CHECK(std::fabs(pair.slope / (4 * cap * cap * both) - 1) < kRounding);
  const CapMean about = cap_mean(cap, 1, variance);
  CHECK(std::fabs(about.value / (cap * std::erf(1 / std::sqrt(2 * variance))) - 1) < kRounding);
  const ScoreCap scores = score_cap(cap, variance, c * variance);
  CHECK(scores.omitted <= 1);
  CHECK(scores.forward > 0);
}

// Eight deviations away a series takes the place of sums in each other.
TEST_CASE("softcap: two sums and a series meet") {
  constexpr double cap = 3, at = cap * cap / 64, near = 1e-9;
  for (const double c : {-1.0, -0.7, -0.1, 0.0, 0.2, 0.6, 0.99, 1.0}) {
    CAPTURE(c);
    const double below = at * (1 - near), above = at * (1 + near);
    const CapPair series = cap_pair(cap, below, c * below), sums = cap_pair(cap, above, c * above);
    CHECK(std::fabs(series.cross - sums.cross) < 3 * near * at);
    CHECK(std::fabs(series.slope - sums.slope) < 3 * near);
    // At c = 1 they are those of one.
    const CapMoments one = cap_moments(cap, below);
    if (std::fabs(c) != 1) continue;
    CHECK(std::fabs(series.cross / one.second - c) < kRounding);
    CHECK(std::fabs(series.slope / one.slope - 1) < kRounding);
  }
  const CapPair none = cap_pair(cap, 0, 0);
  CHECK(none.cross == 0);
  CHECK(none.slope == 1);
}
