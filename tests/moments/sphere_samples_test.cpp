#include "moments/sphere_samples.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "sample.hpp"

namespace scalecalc::moments {
namespace {

// Gaussian samples less their mean and over their deviation, against formulas: what averages have
// beyond Gaussian ones of the same pair of moments.
TEST_CASE("samples behind a norm over them are on a sphere") {
  for (const char* name : {"tanh", "gelu", "relu", "relu_squared"}) {
    for (const int samples : {4, 6, 16}) {
      CAPTURE(name);
      CAPTURE(samples);
      constexpr int draws = 60000;
      const Activation phi = Activation::named(name);
      const double n = samples, cross = -1 / (n - 1);
      std::mt19937_64 random(11);
      std::normal_distribution<double> normal;
      testing::Sample second, pair, slope, slope_pair, input;
      for (int draw = 0; draw < draws; ++draw) {
        std::vector<double> x(static_cast<std::size_t>(samples));
        double mean = 0, square = 0;
        for (double& value : x) mean += (value = normal(random)) / n;
        for (double& value : x) square += (value - mean) * (value - mean) / n;
        const auto y = [&](std::size_t i) { return (x[i] - mean) / std::sqrt(square); };
        // The same two places as Gaussian samples of this correlation.
        const double u = x[0], v = cross * x[0] + std::sqrt(1 - cross * cross) * x[1];
        const auto f = [&](double at) { return phi.value(at); };
        const auto h = [&](double at) { return phi.slope(at); };
        second.add(f(y(0)) * f(y(0)) - f(u) * f(u));
        pair.add(f(y(0)) * f(y(1)) - f(u) * f(v));
        slope.add(h(y(0)) * h(y(0)) - h(u) * h(u));
        slope_pair.add(h(y(0)) * h(y(1)) - h(u) * h(v));
        input.add(std::pow(y(0) * h(y(0)), 2) - std::pow(u * h(u), 2));
      }
      // n - 1 dimensions.
      const SphereExcess found = sphere_excess(phi, {0, 1, cross, 0}, -2 / (n + 1));
      // Steps of 1/64 of a turn leave less than 2e-3 of a kink.
      const auto close = [](double value, const testing::Sample& sample) {
        return std::fabs(value - sample.mean()) < 4.5 * sample.standard_error() + 2e-3;
      };
      CHECK(close(found.values.second, second));
      CHECK(close(found.values.cross, pair));
      CHECK(close(found.slopes.second, slope));
      CHECK(close(found.slopes.cross, slope_pair));
      CHECK(close(found.input_slope.second, input));
    }
  }
}

TEST_CASE("Gaussian samples have nothing beyond themselves") {
  const SphereExcess found = sphere_excess(Activation::named("gelu"), {0, 1, 0.2, 0}, 0);
  CHECK(found.values.second == 0);
  CHECK(found.slopes.cross == 0);
}

}  // namespace
}  // namespace scalecalc::moments
