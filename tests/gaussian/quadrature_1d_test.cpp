#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "quadrature_support.hpp"
#include "tolerance.hpp"

namespace scalecalc {
namespace {

using namespace testing;

constexpr double pi = std::numbers::pi;

void check_near(const Estimate& found, double expected) {
  // The expected value is rounded a few times itself.
  const double own = 4 * std::numeric_limits<double>::epsilon() * std::fabs(expected);
  CHECK(std::fabs(found.value - expected) <= found.error + own);
  CHECK(found.error <= stated_share * std::fabs(expected));
}

TEST_CASE("closed forms at any variance") {
  const Activation relu = Activation::named("relu"), sine = Activation::named("sin");
  const Activation error_function = Activation::named("erf"), square = Activation::named("square");
  for (const double q : {1e-8, 0.3, 1.0, 40.0, 1e8}) {
    const GaussianInput input{0, q, std::nullopt};
    const Moments1D moments = quadrature_1d(relu, input);
    check_near(moments.mean, std::sqrt(q / (2 * pi)));
    check_near(moments.second, q / 2);
    check_near(moments.slope_mean, 0.5);
    check_near(*moments.slope_second, 0.5);
    check_near(moments.fourth, 1.5 * q * q);
    check_near(quadrature(square, Moment::fourth, input), 105 * q * q * q * q);
    check_near(quadrature(error_function, Moment::second, input),
               2 / pi * std::atan2(2 * q, std::sqrt(1 + 4 * q)));
    if (q < 100) check_near(quadrature(sine, Moment::second, input), -std::expm1(-2 * q) / 2);
  }
}

TEST_CASE("oscillation over a wide input") {
  const Moments1D moments = quadrature_1d(Activation::named("sin"), {0.5, 1e4, std::nullopt});
  CHECK(std::fabs(moments.second.value - 0.5) <= stated_share);
  CHECK(std::fabs(moments.mean.value) <= moments.mean.error);
  CHECK(std::fabs(moments.fourth.value - 0.375) <= stated_share);
}

TEST_CASE("the mean of an odd activation vanishes") {
  for (const char* name : {"tanh", "softsign", "tanhshrink", "hardshrink", "erf", "sin"}) {
    for (const double q : {1e-8, 1e-2, 1.0, 1e3, 1e8}) {
      if (std::string(name) == "sin" && q > 1e3) continue;
      INFO(name, " q=", q);
      const Moments1D moments = quadrature_1d(Activation::named(name), {0, q, std::nullopt});
      CHECK(std::fabs(moments.mean.value) <= rounding(8) * std::sqrt(moments.second.value));
      const Moments1D right = quadrature_1d(Activation::named(name), {0.75, q, std::nullopt});
      const Moments1D left = quadrature_1d(Activation::named(name), {-0.75, q, std::nullopt});
      CHECK(std::fabs(left.mean.value + right.mean.value) <= left.mean.error + right.mean.error);
      CHECK(std::fabs(left.second.value - right.second.value) <=
            left.second.error + right.second.error);
    }
  }
}

TEST_CASE("Stein: E z phi(z sqrt(q)) by the derivative in the mean is E phi'") {
  for (const char* name : {"gelu", "elu", "mish", "hard_swish"}) {
    const Activation phi = Activation::named(name);
    const double step = 1e-4;
    const auto mean = [&](double mu) { return quadrature(phi, Moment::mean, {mu, 2.0, {}}).value; };
    const double difference = (8 * (mean(0.3 + step) - mean(0.3 - step)) -
                               (mean(0.3 + 2 * step) - mean(0.3 - 2 * step))) /
                              (12 * step);
    // Rounding over the step, and h^4/30 times a fifth derivative of order 1.
    CHECK(std::fabs(difference - quadrature(phi, Moment::slope_mean, {0.3, 2.0, {}}).value) <
          1e-14 / step + step * step * step * step);
  }
}

TEST_CASE("variance 0 is the point mass") {
  const Activation tanh = Activation::named("tanh");
  const Moments1D moments = quadrature_1d(tanh, {0.5, 0, std::nullopt});
  check_near(moments.mean, std::tanh(0.5));
  check_near(moments.second, std::pow(std::tanh(0.5), 2));
  check_near(*moments.slope_second, std::pow(std::cosh(0.5), -4));
  check_near(quadrature(tanh, Moment::cross, {0.5, 0, -0.3}), std::pow(std::tanh(0.5), 2));
  // The limit of a small variance at a kink, where half of it lies on either side.
  const Activation relu = Activation::named("relu");
  CHECK(quadrature(relu, Moment::slope_second, {0, 0, std::nullopt}).value == 0.5);
  CHECK(quadrature(relu, Moment::slope_second, {0, 1e-300, std::nullopt}).value ==
        rounded(0.5, 512));
}

TEST_CASE("extreme inputs give numbers or reasons") {
  const Activation relu = Activation::named("relu"), gelu = Activation::named("gelu");
  CHECK(quadrature(relu, Moment::second, {0, 1e-300, {}}).value == rounded(5e-301, 512));
  CHECK(quadrature(relu, Moment::mean, {-60, 1, {}}).value == 0);
  CHECK(quadrature(gelu, Moment::second, {0, 1e150, {}}).value == rounded(5e149, 512));
  check_near(quadrature(Activation::named("tanh"), Moment::mean, {1e300, 1, {}}), 1);
  CHECK(message_of([&] {
          quadrature(relu, Moment::fourth, {0, 1e300, {}});
        }).find("too large") != std::string::npos);
  CHECK(message_of([&] {
          quadrature(Activation::named("exp"), Moment::mean, {0, 1e8, {}});
        }).find("too large for a double") != std::string::npos);
}

TEST_CASE("growth far beyond the mean is followed to its centre") {
  // E e^(k u) = e^(k^2 q/2): the integrand's centre is k sqrt(q) away.
  const Activation exponential = Activation::named("exp");
  for (const double q : {4.0, 25.0, 64.0}) {
    check_near(quadrature(exponential, Moment::mean, {0, q, {}}), std::exp(q / 2));
    check_near(quadrature(exponential, Moment::second, {0, q, {}}), std::exp(2 * q));
    // exp of a large number is off by that number times epsilon.
    const Estimate fourth = quadrature(exponential, Moment::fourth, {0, q, {}});
    CHECK(std::fabs(std::log(fourth.value) - 8 * q) <= stated_share * 8 * q);
  }
}

TEST_CASE("users' expressions with scales of their own") {
  // E tanh(k z)^2 -> 1 - 2/(k sqrt(2 pi)) for steep k: E sech^2 is an integral of width 1/k.
  const Activation steep = Activation::from_expression("tanh(1000000*(x - 1/3))");
  const double density = std::exp(-1.0 / 18) / std::sqrt(2 * pi);
  const Estimate second = quadrature(steep, Moment::second, {0, 1, {}});
  CHECK(second.value == doctest::Approx(1 - 2e-6 * density).epsilon(1e-12));
  const Activation narrow = Activation::from_expression("exp(-(1000*(x - 2))^2)");
  // A product of two normal densities.
  const double width = 1 / (1000 * std::sqrt(2.0)), total = 1 + width * width;
  const double expected = width / std::sqrt(total) * std::exp(-2 / total);
  const Estimate mean = quadrature(narrow, Moment::mean, {0, 1, {}});
  CHECK(std::fabs(mean.value - expected) <= mean.error);
  // A rounding of x near 2 is large beside a width of 1/1000.
  CHECK(mean.error <= 4000 * std::numeric_limits<double>::epsilon() * expected);
  const Activation root = Activation::from_expression("sqrt(abs(x))");
  check_near(quadrature(root, Moment::second, {0, 1, {}}), std::sqrt(2 / pi));
  check_near(quadrature(root, Moment::mean, {0, 1, {}}),
             std::pow(2, 0.25) * std::tgamma(0.75) / std::sqrt(pi));
  check_near(quadrature(Activation::from_expression("7"), Moment::second, {3, 5, {}}), 49);
}

TEST_CASE("expectations that do not exist say so") {
  const auto says = [](const char* expression, Moment moment, double q) {
    return message_of([&] {
             quadrature(Activation::from_expression(expression), moment, {0, q, std::nullopt});
           }).find("this expectation does not exist") != std::string::npos;
  };
  CHECK(says("exp(x^2)", Moment::mean, 0.5));
  CHECK(says("exp(x^2)", Moment::mean, 3));
  CHECK_FALSE(says("exp(x^2)", Moment::mean, 0.49));
  CHECK(says("exp(x^2)", Moment::second, 0.25));
  CHECK_FALSE(says("exp(x^2)", Moment::second, 0.24));
  CHECK(says("exp(x^2/100)", Moment::fourth, 12.5));
  CHECK(says("exp(x^4/1000000)", Moment::mean, 1));
  CHECK(says("exp(x^4/1000000000000)", Moment::second, 1e-4));
  CHECK(says("exp(exp(x))", Moment::mean, 1));
  CHECK_FALSE(says("exp(-x^2)", Moment::fourth, 1e6));
  CHECK_FALSE(says("sinh(x)", Moment::fourth, 1));
  // phi' ~ |x|^(-1/2)/2: its mean exists, its square is not integrable.
  CHECK(says("sqrt(abs(x))", Moment::slope_second, 1));
  CHECK_FALSE(says("sqrt(abs(x))", Moment::slope_mean, 1));
  const Moments1D root =
      quadrature_1d(Activation::from_expression("sqrt(abs(x))"), {0, 1, std::nullopt});
  CHECK_FALSE(root.slope_second);
  const std::string jump = message_of([] {
    quadrature(Activation::named("hardshrink"), Moment::slope_second, {0, 1, std::nullopt});
  });
  CHECK(jump.find("infinite: phi jumps at x = -0.5") != std::string::npos);
  CHECK_FALSE(quadrature_1d(Activation::named("hardshrink"), {0, 1, std::nullopt}).slope_second);
}

TEST_CASE("what exists just below the limit has its value") {
  // E exp(a u^2) = (1 - 2 a q)^(-1/2).
  const Activation grows = Activation::from_expression("exp(x^2)");
  for (const double q : {0.1, 0.4, 0.49}) {
    check_near(quadrature(grows, Moment::mean, {0, q, {}}), 1 / std::sqrt(1 - 2 * q));
  }
  // Doubles cannot hold the integrand, and digits take over.
  const Estimate close = quadrature(grows, Moment::mean, {0, 0.4999, {}});
  CHECK(close.value == doctest::Approx(1 / std::sqrt(1 - 2 * 0.4999)).epsilon(1e-11));
}

TEST_CASE("what would take for ever in digits is refused") {
  const std::string message = message_of([] {
    quadrature(Activation::named("exp"), Moment::cross, {0, 300, 0.5});
  });
  CHECK(message.find("too many evaluations") != std::string::npos);
}

TEST_CASE("bad input is named") {
  const Activation relu = Activation::named("relu");
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const GaussianInput& input :
       {GaussianInput{nan, 1, {}}, GaussianInput{infinity, 1, {}}, GaussianInput{0, -1, {}},
        GaussianInput{0, nan, {}}, GaussianInput{0, infinity, {}}}) {
    CHECK_THROWS_AS(quadrature(relu, Moment::mean, input), Error);
    CHECK_THROWS_AS(quadrature_1d(relu, input), Error);
  }
  CHECK_THROWS_AS(quadrature(relu, Moment::cross, {0, 1, std::nullopt}), Error);
  CHECK_THROWS_AS(quadrature(relu, Moment::cross, {0, 1, 1.5}), Error);
  CHECK_THROWS_AS(quadrature(relu, Moment::cross, {0, 1, nan}), Error);
}

}  // namespace
}  // namespace scalecalc
