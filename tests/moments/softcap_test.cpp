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
