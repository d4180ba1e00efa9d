#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "scalecalc/error.hpp"
#include "scalecalc/gaussian.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

constexpr double pi = std::numbers::pi;

/// GELU's moments over N(0, q), and over pairs of correlation c
/// (docs/theory/expectations.md#closed-form).
struct Gelu {
  double q, c;
  double r = q * c, root = std::sqrt((1 + q) * (1 + q) - r * r);

  double mean() const { return q / std::sqrt(2 * pi * (1 + q)); }
  double second() const { return Gelu{q, 1.0}.cross(); }
  double slope_second() const { return Gelu{q, 1.0}.slope_cross(); }
  double n() const { return q * q * (1 + q) + r * r * (1 - q); }
  double cross() const {
    return r / 4 + r / (2 * pi) * std::asin(r / (1 + q)) + n() / (2 * pi * (1 + q) * root);
  }
  double slope_cross() const {
    return 0.25 + std::asin(r / (1 + q)) / (2 * pi) + r / (2 * pi * root) +
           r * (1 - q) / (pi * (1 + q) * root) + n() * r / (2 * pi * (1 + q) * root * root * root);
  }
};

MonteCarloOptions options(std::int64_t samples, std::uint64_t seed = 1) {
  MonteCarloOptions out;
  out.samples = samples;
  out.seed = seed;
  return out;
}

double z(const Estimate& estimate, double exact) {
  return (estimate.value - exact) / estimate.error;
}

double upper_tail(double x) {
  return 0.5 * std::erfc(x / std::numbers::sqrt2);
}

}  // namespace

TEST_CASE("sampled moments of gelu agree with the closed forms") {
  const Activation gelu = Activation::named("gelu");
  for (const double q : {1e-4, 1.0, 30.0}) {
    for (const double c : {-1.0, -0.4, 0.0, 0.8, 1.0}) {
      CAPTURE(q);
      CAPTURE(c);
      const auto found = monte_carlo(gelu, {0.0, q, c}, options(1 << 20));
      const Gelu exact{q, c};
      CHECK(found.size() == all_moments().size());
      CHECK(std::abs(z(found.at(Moment::mean), exact.mean())) < 5.0);
      CHECK(std::abs(z(found.at(Moment::second), exact.second())) < 5.0);
      CHECK(std::abs(z(found.at(Moment::slope_mean), 0.5)) < 5.0);
      CHECK(std::abs(z(found.at(Moment::slope_second), exact.slope_second())) < 5.0);
      CHECK(std::abs(z(found.at(Moment::cross), exact.cross())) < 5.0);
      CHECK(std::abs(z(found.at(Moment::slope_cross), exact.slope_cross())) < 5.0);
      for (const auto& [moment, estimate] : found) CHECK(estimate.method == Method::monte_carlo);
    }
  }
}

// relu over N(mu, q): E = mu Phi(a) + s phi(a), E^2 = (mu^2 + q) Phi(a) + mu s phi(a), a = mu/s.
TEST_CASE("sampled moments with a mean") {
  const double mean = 0.7, q = 2.0, s = std::sqrt(q), a = mean / s;
  const double density = std::exp(-a * a / 2) / std::sqrt(2 * pi), mass = 1.0 - upper_tail(a);
  const auto found = monte_carlo(Activation::named("relu"), {mean, q, {}}, options(1 << 20));
  CHECK(found.size() == 5);
  CHECK(std::abs(z(found.at(Moment::mean), mean * mass + s * density)) < 5.0);
  CHECK(std::abs(z(found.at(Moment::second), (mean * mean + q) * mass + mean * s * density)) < 5.0);
  CHECK(std::abs(z(found.at(Moment::slope_mean), mass)) < 5.0);
  CHECK(std::abs(z(found.at(Moment::slope_second), mass)) < 5.0);
}

// For a moment whose draws are independent, z has mean 0 and variance 1; over n seeds the sample
// variance has standard error (2/n)^(1/2), and |z| < 1 happens binomially.
TEST_CASE("the standard errors cover") {
  const Activation gelu = Activation::named("gelu");
  const Gelu exact{1.0, 0.5};
  constexpr int seeds = 500;
  for (const auto& [moment, truth] : {std::pair{Moment::mean, exact.mean()},
                                      {Moment::second, exact.second()},
                                      {Moment::slope_second, exact.slope_second()},
                                      {Moment::cross, exact.cross()},
                                      {Moment::slope_cross, exact.slope_cross()}}) {
    CAPTURE(to_string(moment));
    double squares = 0, sum = 0;
    int inside = 0;
    for (int seed = 0; seed < seeds; ++seed) {
      MonteCarloOptions draw = options(1, static_cast<std::uint64_t>(seed));
      draw.moments = {moment};
      const auto found = monte_carlo(gelu, {0.0, 1.0, 0.5}, draw);
      const double error = z(found.at(moment), truth);
      squares += error * error;
      sum += error;
      inside += std::abs(error) < 1.0;
      CHECK(std::abs(error) < 5.5);
    }
    const double n = seeds, p = std::erf(1.0 / std::numbers::sqrt2);
    CHECK(std::abs(sum) < 5.0 * std::sqrt(n));
    CHECK(std::abs(squares / n - 1.0) < 5.0 * std::sqrt(2.0 / n));
    CHECK(std::abs(inside - n * p) < 5.0 * std::sqrt(n * p * (1.0 - p)));
  }
}

TEST_CASE("the bits do not depend on the number of threads") {
  const Activation silu = Activation::named("silu");
  MonteCarloOptions draw = options(300000, 9);
  const auto one = monte_carlo(silu, {0.3, 2.0, 0.6}, draw);
  for (const int threads : {2, 3, 7, 64}) {
    draw.threads = threads;
    const auto many = monte_carlo(silu, {0.3, 2.0, 0.6}, draw);
    for (const auto& [moment, estimate] : one) {
      CHECK(many.at(moment).value == estimate.value);
      CHECK(many.at(moment).error == estimate.error);
    }
  }
  draw.seed = 10;
  CHECK(monte_carlo(silu, {0.3, 2.0, 0.6}, draw).at(Moment::mean).value !=
        one.at(Moment::mean).value);
}

TEST_CASE("only the moments wanted, with the same numbers") {
  const Activation tanh = Activation::named("tanh");
  MonteCarloOptions draw = options(1 << 16);
  const auto all = monte_carlo(tanh, {0.1, 1.0, {}}, draw);
  CHECK(all.count(Moment::cross) == 0);
  draw.moments = {Moment::second, Moment::cross};
  const auto some = monte_carlo(tanh, {0.1, 1.0, {}}, draw);
  CHECK(some.size() == 1);
  CHECK(some.at(Moment::second).value == all.at(Moment::second).value);
}

// hardshrink's slope almost everywhere is 1 beyond +-l: E phi' = 2 Q(l/s), and E phi'(u) phi'(v) at
// c = 0 is its square.
TEST_CASE("slopes leave out the jumps, and squares of them do not exist") {
  const Activation shrink = Activation::named("hardshrink");
  const double l = 0.5, s = 1.3, slope = 2 * upper_tail(l / s);
  const auto found = monte_carlo(shrink, {0.0, s * s, 0.0}, options(1 << 21));
  CHECK(found.count(Moment::slope_second) == 0);
  CHECK(std::abs(z(found.at(Moment::slope_mean), slope)) < 5.0);
  CHECK(std::abs(z(found.at(Moment::slope_cross), slope * slope)) < 5.0);
  // At c = -1 both are beyond or neither.
  const auto mirrored = monte_carlo(shrink, {0.0, s * s, -1.0}, options(1 << 16));
  CHECK(std::abs(z(mirrored.at(Moment::slope_cross), slope)) < 5.0);
  CHECK(monte_carlo(shrink, {0.0, 1.0, 1.0}, options(1)).count(Moment::slope_cross) == 0);
  CHECK(monte_carlo(shrink, {2.0, 0.0, 0.5}, options(1)).at(Moment::slope_cross).value == 1.0);
}

TEST_CASE("no variance: the point itself") {
  const Activation gelu = Activation::named("gelu");
  const auto found = monte_carlo(gelu, {0.8, 0.0, 0.5}, options(1));
  const double y = gelu.value(0.8), slope = gelu.slope(0.8);
  CHECK(found.at(Moment::mean).value == rounded(y, 8));
  CHECK(found.at(Moment::fourth).value == rounded(y * y * y * y, 64));
  CHECK(found.at(Moment::slope_cross).value == rounded(slope * slope, 64));
  CHECK(found.at(Moment::mean).error < rounding(8));
}

TEST_CASE("odd functions cancel exactly, pair by pair") {
  const auto found = monte_carlo(Activation::named("tanh"), {0.0, 1.0, 0.3}, options(1 << 16));
  CHECK(found.at(Moment::mean).value == 0.0);
  CHECK(found.at(Moment::cross).error > 0.0);
}

TEST_CASE("samples that overflow are no estimate") {
  const Activation exp = Activation::named("exp");
  const auto found = monte_carlo(exp, {0.0, 6e3, {}}, options(1));
  for (const auto& [moment, estimate] : found) CHECK(std::isfinite(estimate.value));
  CHECK(found.count(Moment::fourth) == 0);
  CHECK_THROWS_AS(monte_carlo(exp, {0.0, 1e8, {}}, options(1)), Error);
}

TEST_CASE("inputs and options that cannot be used are named") {
  const Activation relu = Activation::named("relu");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(monte_carlo(relu, {nan, 1.0, {}}), Error);
  CHECK_THROWS_AS(monte_carlo(relu, {0.0, -1.0, {}}), Error);
  CHECK_THROWS_AS(monte_carlo(relu, {0.0, infinity, {}}), Error);
  CHECK_THROWS_AS(monte_carlo(relu, {0.0, 1.0, 1.5}), Error);
  CHECK_THROWS_AS(monte_carlo(relu, {0.0, 1.0, nan}), Error);
  CHECK_THROWS_AS(monte_carlo(relu, {0.0, 1.0, {}}, options(0)), Error);
  CHECK_THROWS_AS(monte_carlo(relu, {0.0, 1.0, {}}, options(std::int64_t{1} << 60)), Error);
  MonteCarloOptions draw = options(1);
  draw.threads = 0;
  CHECK_THROWS_WITH(monte_carlo(relu, {0.0, 1.0, {}}, draw), "0 threads (threads); from 1 to 1024");
}
