#include "moments/activation_error.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "moments/layers/activation.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

/// E f(z), exact of what is smooth on the scale of a step.
double over_gaussian(const std::function<double(double)>& f) {
  constexpr double step = 1.0 / 16, reach = 8;
  double sum = 0, all = 0;
  for (double z = -reach; z <= reach; z += step) {
    const double weight = std::exp(-z * z / 2);
    all += weight;
    sum += weight * f(z);
  }
  return sum / all;
}

/// What size moments and sums over steps of a quarter leave, of inputs whose size goes to 0 with
/// the gate.
constexpr double of_sums = 4e-3;

}  // namespace

TEST_CASE("behind a gate what a feature's law makes is that of a mixture") {
  Numbers numbers = calculus();
  const Activation gate = Activation::named("gelu"), tanh = Activation::named("tanh");
  const auto gated = [&](double u) { return gate.value(u); };
  const double size = over_gaussian([&](double u) { return gated(u) * gated(u); });
  for (const double variance : {0.1, 1.0, 9.0}) {
    CAPTURE(variance);
    const auto square = [&](double x) { return tanh.value(x) * tanh.value(x); };
    const double mixed = over_gaussian([&](double u) {
      return over_gaussian(
          [&](double w) { return square(gated(u) * w * std::sqrt(variance / size)); });
    });
    const double plain = over_gaussian([&](double z) { return square(z * std::sqrt(variance)); });
    const double values = std::fabs(mixed / plain - 1);
    const ActivationInput of{"gelu", {0, 1, 0, 0}, true};
    CHECK(heavy_of_gate(numbers, numbers.function("tanh"), of, variance) ==
          within(values, of_sums));
  }
}

// Of features of variance 1 + s or 1 - s: kurtosis/3 - 1 = s^2.
TEST_CASE("a fourth moment says what E phi^2 and E phi are off by") {
  Numbers numbers = calculus();
  for (const char* name : {"tanh", "gelu", "relu", "sin", "softplus"}) {
    const auto phi = numbers.function(name);
    const auto in = signal(1, 0.3, 64);
    const WidthMoments& moments = numbers.width(phi, 0, 1);
    const Pairs y{numbers.expectation(phi, Moment::mean, {0, 1}), moments.second, 0, 0};
    for (const double s : {0.1, 0.3, 0.6}) {
      CAPTURE(name);
      CAPTURE(s);
      const SizeMoments up = numbers.sizes(phi, 0, 1 + s), down = numbers.sizes(phi, 0, 1 - s);
      const auto mean = [&](double q) {
        return numbers.expectation(phi, Moment::mean, Token<double>{0, q});
      };
      const double values = std::fabs((up.second + down.second) / 2 / moments.second - 1),
                   means = std::fabs((mean(1 + s) + mean(1 - s)) / 2 - y.mean) /
                           std::sqrt(moments.second);
      const double known = known_heavy(numbers, phi, in, in.x, y, moments, s * s);
      CHECK(std::max(values, means) <= known + of_sums);
    }
  }
}

// Features that are 0 with a chance of p, else Gaussian: h = p/(1 - p), and E phi'^2 is p phi'(0)^2
// and that of the variance q/(1 - p) for the rest.
TEST_CASE("slopes of features that are often 0 are within what their kurtosis states") {
  Numbers numbers = calculus();
  for (const char* name : {"tanh", "sigmoid", "relu", "gelu", "softsign", "tanh(x/2)"}) {
    const auto phi = numbers.function(name);
    for (const double p : {0.5, 0.7, 0.9})  // h of 1 and more
      for (const double q : {0.1, 1.0, 100.0, 1e6}) {
        CAPTURE(name);
        CAPTURE(p);
        CAPTURE(q);
        const auto slopes = [&](double variance) {
          return numbers.expectation(phi, Moment::slope_second, Token<double>{0, variance});
        };
        const double gaussian = slopes(q), here = phi->activation().slope(0),
                     made = p * here * here + (1 - p) * slopes(q / (1 - p));
        const double stated =
            unknown_slopes(phi->activation(), {0, q, 0, 0}, gaussian, p / (1 - p));
        CHECK(std::fabs(made / gaussian - 1) <= stated + by_quadrature);
      }
  }
}
