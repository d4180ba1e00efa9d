#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "quadrature_support.hpp"
#include "scalecalc/error.hpp"
#include "tolerance.hpp"

namespace scalecalc {
namespace {

using namespace testing;

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double correlations[] = {-1, -0.999999, -0.9, -0.3, 0, 0.5, 0.95, 0.999999, 1};

Moment square_of(Moment pair_moment) {
  return pair_moment == Moment::cross ? Moment::second : Moment::slope_second;
}

/// Smooth, kinked, and kinked with nothing beyond a band.
const char* const continuous[] = {"tanh", "gelu", "silu", "relu", "elu", "relu6", "hard_tanh"};
const GaussianInput places[] = {{0, 1e-8, {}}, {0, 1, {}}, {0.75, 1, {}}, {0, 100, {}}};

void check_pair(const Activation& phi, Moment moment, double mean, double variance) {
  const PairFunction pair(phi, moment, mean, variance);
  const double square = quadrature(phi, Moment::second, {mean, variance, {}}).value;
  const double size = moment == Moment::cross ? square : pair(1).value;
  for (const double c : correlations) {
    INFO(phi.name(), " ", to_string(moment), " mean=", mean, " q=", variance, " c=", c);
    const Estimate found = pair(c), plane = quadrature(phi, moment, {mean, variance, c});
    CHECK(found.method == Method::quadrature);
    CHECK(std::fabs(found.value - plane.value) <= found.error + plane.error);
    CHECK(found.error <= stated_share * size);
    const auto closed = closed_form_value(phi, moment, {mean, variance, c});
    if (closed) CHECK(std::fabs(found.value - closed->value) <= found.error + closed->error);
  }
}

TEST_CASE("the series reaches up to its limit, and beyond it values go on") {
  for (const char* name : {"gelu", "silu", "relu", "tanh"}) {
    const Activation phi = Activation::named(name);
    for (const double variance : {0.1, 1.0, 30.0}) {
      const PairFunction pair(phi, Moment::cross, 0, variance);
      const double limit = pair.series_limit();
      CAPTURE(name);
      CAPTURE(variance);
      REQUIRE(limit > 0);
      REQUIRE(limit <= 1);
      if (limit == 1) continue;
      const Estimate below = pair(limit * (1 - 1e-9)), beyond = pair(limit * (1 + 1e-9));
      const double between = 2e-9 * std::fabs(pair.derivative(limit * (1 - 1e-9)));
      CHECK(std::fabs(beyond.value - below.value) <= 2 * between + below.error + beyond.error);
    }
  }
}

TEST_CASE("values are those of quadrature and of closed forms, errors honest and small") {
  for (const char* name : continuous) {
    const Activation phi = Activation::named(name);
    for (const GaussianInput& at : places) {
      check_pair(phi, Moment::cross, at.mean, at.variance);
      check_pair(phi, Moment::slope_cross, at.mean, at.variance);
    }
  }
}

TEST_CASE("a jump leaves a root at c = 1, which is met in the angle") {
  const Activation shrink = Activation::named("hardshrink");
  for (const double q : {0.25, 1.0, 100.0}) check_pair(shrink, Moment::cross, 0.25, q);
}

// Features of a width far below the standard deviation: over angles that small the expectation
// bends, next to c = 1 and, for breaks that are not symmetric about the mean, next to c = -1.
TEST_CASE("a wide input bends the ends") {
  for (const char* name : {"relu", "relu6"}) {
    check_pair(Activation::named(name), Moment::cross, 0.75, 1e8);
  }
  check_pair(Activation::named("tanh"), Moment::slope_cross, 0.75, 1e4);
}

TEST_CASE("the coefficients sum to the square, and weigh its powers of c") {
  for (const char* name : {"tanh", "gelu", "relu", "hard_swish"}) {
    const Activation phi = Activation::named(name);
    for (const Moment moment : {Moment::cross, Moment::slope_cross}) {
      INFO(name, " ", to_string(moment));
      const PairFunction pair(phi, moment, 0.5, 2);
      const std::vector<double>& a = pair.coefficients();
      CHECK(*std::min_element(a.begin(), a.end()) >= 0);
      const Estimate square = quadrature(phi, square_of(moment), {0.5, 2, {}});
      const double sum = std::accumulate(a.begin(), a.end(), 0.0);
      // Of a kink n^(-5/2) of slope and n^(-3/2) of a step are left: after 320 terms below 4e-2.
      CHECK(sum <= square.value * (1 + stated_share));
      CHECK(sum >= square.value * (1 - 4e-2));
      const Moment first = moment == Moment::cross ? Moment::mean : Moment::slope_mean;
      const Estimate mean = quadrature(phi, first, {0.5, 2, {}});
      // A tenth of stated_share: a mean of few nodes.
      CHECK(std::fabs(a[0] - mean.value * mean.value) <= stated_share / 10 * square.value);
      CHECK(pair(1).value == within(square.value, stated_share * square.value));
    }
  }
}

// The second difference over h is off by h^2/6 of the third derivative, which is below
// sum n^3 a_n^2 c^n, and by the rounding of the values over h.
TEST_CASE("the derivative is that of the values") {
  constexpr double h = 1e-4;
  for (const char* name : continuous) {
    for (const Moment moment : {Moment::cross, Moment::slope_cross}) {
      const PairFunction pair(Activation::named(name), moment, 0.25, 2);
      const std::vector<double>& a = pair.coefficients();
      for (const double c : {-0.7, 0.0, 0.4, 0.9}) {
        INFO(name, " ", to_string(moment), " c=", c);
        double third = 0;
        for (std::size_t n = 3; n < a.size(); ++n) {
          const auto k = static_cast<double>(n);
          third += k * (k - 1) * (k - 2) * a[n] * std::pow(std::fabs(c) + h, k - 3);
        }
        const double up = pair(c + h).value, down = pair(c - h).value;
        const double allowed = third * h * h / 6 + 1e-13 * pair(1).value / h;
        CHECK(std::fabs(pair.derivative(c) - (up - down) / (2 * h)) <= allowed);
      }
    }
  }
}

TEST_CASE("the derivative at the ends, by closed forms") {
  // Price: q E phi' phi' of relu is q (1/4 + asin(c)/(2 pi)).
  const PairFunction relu(Activation::named("relu"), Moment::cross, 0, 3);
  for (const double c : correlations) {
    INFO("c=", c);
    const double exact = 3 * (0.25 + std::asin(c) / (2 * std::numbers::pi));
    CHECK(std::fabs(relu.derivative(c) - exact) <= 3 * stated_share);
  }
  // The slope of a step: 1/(2 pi sqrt(1 - c^2)), infinite at the ends.
  const PairFunction step(Activation::named("relu"), Moment::slope_cross, 0, 3);
  for (const double c : {-0.999999, -0.9, 0.0, 0.5, 0.999, 0.999999}) {
    INFO("c=", c);
    const double sine = std::sqrt((1 - c) * (1 + c)), exact = 1 / (2 * std::numbers::pi * sine);
    // A slope by the angle: the error of the polynomial of degree 19 by the square of that, by sin.
    const double angle_error = 400 * step(c).error;
    CHECK(std::fabs(step.derivative(c) - exact) <= 1e-12 * exact + angle_error / sine);
  }
  CHECK(message_of([&] { step.derivative(1); }).find("infinite") != std::string::npos);
  // erf: 4/pi / sqrt((1 + 2q)^2 - (2qc)^2) is smooth up to the ends.
  const double q = 0.5;
  const PairFunction smooth(Activation::named("erf"), Moment::cross, 0, q);
  for (const double c : correlations) {
    INFO("c=", c);
    const double root = std::sqrt((1 + 2 * q + 2 * q * c) * (1 + 2 * q - 2 * q * c));
    CHECK(smooth.derivative(c) == rounded(4 * q / std::numbers::pi / root, 512));
  }
}

TEST_CASE("variance 0: the limit of a small one") {
  const PairFunction tanh(Activation::named("tanh"), Moment::cross, 0.5, 0);
  const PairFunction kink(Activation::named("leaky_relu"), Moment::slope_cross, 0, 0);
  const PairFunction small(Activation::named("leaky_relu"), Moment::slope_cross, 0, 1e-8);
  for (const double c : correlations) {
    INFO("c=", c);
    CHECK(tanh(c).value == doctest::Approx(std::pow(std::tanh(0.5), 2)).epsilon(8 * epsilon));
    CHECK(tanh.derivative(c) == 0);
    // leaky_relu is the same at every scale.
    CHECK(std::fabs(kink(c).value - small(c).value) <= kink(c).error + small(c).error);
    const Estimate point =
        quadrature(Activation::named("leaky_relu"), Moment::slope_cross, {0, 0, c});
    CHECK(std::fabs(kink(c).value - point.value) <= kink(c).error + point.error);
  }
  // Terms n of the series add their roundings: 320 times some.
  CHECK(kink.derivative(0.5) ==
        doctest::Approx(0.99 * 0.99 / (2 * std::numbers::pi * std::sqrt(0.75))).epsilon(1e-12));
  CHECK_THROWS_AS(
      PairFunction(Activation::from_expression("sqrt(abs(x))"), Moment::slope_cross, 0, 0), Error);
}

TEST_CASE("bad input is named") {
  const Activation relu = Activation::named("relu"), shrink = Activation::named("hardshrink");
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(PairFunction(relu, Moment::second, 0, 1), Error);
  CHECK_THROWS_AS(PairFunction(relu, Moment::cross, nan, 1), Error);
  CHECK_THROWS_AS(PairFunction(relu, Moment::cross, 0, -1), Error);
  CHECK_THROWS_AS(PairFunction(relu, Moment::cross, 0, infinity), Error);
  const PairFunction pair(relu, Moment::cross, 0, 1);
  for (const double c : {1.0000001, -2.0, nan}) {
    CHECK_THROWS_AS(pair(c), Error);
    CHECK_THROWS_AS(pair.derivative(c), Error);
  }
  CHECK(message_of([&] { PairFunction(shrink, Moment::slope_cross, 0, 1); }).find("phi jumps") !=
        std::string::npos);
  CHECK(message_of([] {
          PairFunction(Activation::named("exp"), Moment::cross, 0, 1e8);
        }).find("too large") != std::string::npos);
  CHECK(message_of([] {
          PairFunction(Activation::from_expression("exp(x^2)"), Moment::cross, 0, 0.3);
        }).find("does not exist") != std::string::npos);
}

}  // namespace
}  // namespace scalecalc
