#include "moments/routing.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "scalecalc/activation.hpp"
#include "scalecalc/gaussian.hpp"
#include "scalecalc/layers.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;

namespace {

Experts router(std::int64_t experts, std::int64_t top_k, bool normalised) {
  Experts layer;
  layer.experts.resize(static_cast<std::size_t>(experts));
  layer.top_k = top_k;
  layer.normalised = normalised;
  return layer;
}

constexpr double deviations = 5;   // of means over the draws
constexpr double draws = 1 << 17;  // pairs for two experts
/// The cubic between angles pi/24 apart, at functions that are linear in the angle or smoother.
constexpr double interpolation = 1e-4;

}  // namespace

TEST_CASE("routing: one expert of two is that of the larger score") {
  // z_1 - z_2 of two tokens has the same sign with chance 1 - acos(rho)/pi.
  const Routing by(router(2, 1, true), 0.7);
  for (const double rho : {-0.9, -0.3, 0.0, 0.2, 0.5, 0.9, 0.99, 1.0}) {
    CAPTURE(rho);
    const double same = 1 - std::acos(rho) / std::numbers::pi;
    const double error = std::sqrt(same * (1 - same) / draws);
    CHECK(std::fabs(by.at(rho).plain.weights - same) <= deviations * error + interpolation);
    CHECK(std::fabs(by.at(rho).scatter - same * (1 - same)) <= deviations / std::sqrt(draws));
    CHECK(std::fabs(by.at(rho).plain.slopes) <= interpolation);  // the weight is 1
  }
}

TEST_CASE("routing: scores that do not vary weigh alike") {
  // Of k equal weights 1/k, or 1/E of all: what two tokens share is k^2/E experts where rho is 0.
  for (const bool normalised : {true, false}) {
    const Routing by(router(8, 2, normalised), 1e-10);
    const double each = normalised ? 0.5 : 0.125;
    CHECK(std::fabs(by.at(1).plain.weights - 2 * each * each) <= interpolation);
    CHECK(std::fabs(by.at(0).plain.weights - each * each * 4 / 8) <= interpolation);
    CHECK(std::fabs(by.at(1).sizes) <= interpolation);
    CHECK(std::fabs(by.at(1).loads - 2 * std::pow(each, 4)) <= interpolation);
  }
}

TEST_CASE("routing: weights of two tokens agree the less the further they are apart") {
  for (const std::int64_t top_k : {1, 2, 5}) {
    const Routing by(router(5, top_k, false), 1.0);
    double before = by.at(-1).plain.weights;
    for (double rho = -0.9; rho <= 1; rho += 0.1) {
      const RoutedPair at = by.at(rho);
      CHECK(at.plain.weights >= before - deviations * at.error);
      CHECK(by.rise(rho) >= -deviations * at.error);
      before = at.plain.weights;
    }
  }
}

TEST_CASE("routing: is remembered for the router that it is of") {
  Routings all;
  const Experts layer = router(4, 2, true);
  const Routing* first = &all(layer, 1.0, 1);
  CHECK(first == &all(layer, 1.0, 1));
  CHECK(first != &all(layer, 2.0, 1));
  CHECK(first != &all(router(4, 2, false), 1.0, 1));
  CHECK(first == &all(layer, 1.0, 1));
}

TEST_CASE("routing: any number of threads gives the same bits") {
  for (const Experts& layer : {router(8, 2, true), router(5, 3, false)}) {
    const Routing one(layer, 1.3, 1), three(layer, 1.3, 3);
    for (const double c : {-0.5, 0.0, 0.3, 1.0}) {
      CHECK(one.at(c).plain.weights == three.at(c).plain.weights);
      CHECK(one.at(c).divided.across == three.at(c).divided.across);
    }
  }
}

// The parabola leaves out x (x^2 - 1)/6 h^3 of the third derivative in ln v, at most h^3/15.6;
// differences over a wider step tell that derivative, and the next order is h^4 of the value.
TEST_CASE("routing: routers of nearly one variance are interpolated") {
  constexpr double h = Routings::kSpread, wide = 0.1;
  struct Case {
    bool normalised;
    double variance;
  };
  for (const auto& [normalised, variance] : {Case{true, 0.8}, {false, 0.05}, {false, 6.0}}) {
    CAPTURE(variance);
    const Experts layer = router(8, 2, normalised);
    const auto made = [&, v = variance](double x) { return Routing(layer, v * std::exp(x)); };
    const std::array<Routing, 4> apart = {made(-1.5 * wide), made(-0.5 * wide), made(0.5 * wide),
                                          made(1.5 * wide)};
    Routings all;
    all(layer, variance, 1);
    for (const double x : {-0.9 * h, 0.58 * h}) {
      const Routing& found = all(layer, variance * std::exp(x), 1);
      CHECK(&found == &all(layer, variance * std::exp(x), 1));
      const Routing exact = made(x);
      for (const double rho : {-0.5, 0.0, 0.3, 0.9, 1.0}) {
        CAPTURE(rho);
        const auto check = [&](const auto& of) {
          const auto at = [&](std::size_t k) { return of(apart[k].at(rho)); };
          const double third = (at(3) - 3 * at(2) + 3 * at(1) - at(0)) / (wide * wide * wide);
          const double value = of(exact.at(rho));
          CHECK(std::fabs(of(found.at(rho)) - value) <=
                2 * h * h * h / 15.6 * std::fabs(third) + h * h * h * h * std::fabs(value));
        };
        check([](const RoutedPair& pair) { return pair.plain.weights; });
        check([](const RoutedPair& pair) { return pair.plain.slopes; });
        check([](const RoutedPair& pair) { return pair.divided.across; });
        check([](const RoutedPair& pair) { return pair.inverse; });
      }
    }
  }
}

TEST_CASE("routing: the gate of a shared expert is integrated") {
  Experts gate = router(1, 1, false);
  gate.score = Experts::Score::sigmoid;
  const Activation sigmoid = Activation::named("sigmoid");
  // The grid ends where a normal number is with a chance of 3e-12.
  constexpr double grid = 1e-11;
  for (const double variance : {1e-4, 0.3, 2.0, 30.0}) {
    const Routing by(gate, variance);
    // At the angles themselves no cubic lies between.
    for (const int angle : {0, 4, 8, 12, 20}) {
      const double rho = std::cos(angle * std::numbers::pi / 24);
      CAPTURE(variance);
      CAPTURE(rho);
      const Estimate pair = quadrature(sigmoid, Moment::cross, {0, variance, rho});
      CHECK(std::fabs(by.at(rho).plain.weights - pair.value) <= grid + pair.error);
      CHECK(by.at(rho).error == 0);
    }
  }
}
