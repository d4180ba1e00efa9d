#include "tensor/functors.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "scalecalc/activation.hpp"
#include "tensor/functions.hpp"

namespace scalecalc::tensor {
namespace {

double value(ActivationKind kind, double x) {
  double y = 0.0;
  with_functor<double>(kind, [&](auto phi) { y = phi.value(x); });
  return y;
}
double slope(ActivationKind kind, double x) {
  double y = 0.0;
  with_functor<double>(kind, [&](auto phi) { y = phi.slope(x); });
  return y;
}

}  // namespace

// The two are written apart. Each is a handful of operations, each within an ulp or two; the sums
// in gelu', selu and 1 - tanh^2 cancel at most down to values of order |x|.
TEST_CASE("functors agree with the symbolic activations and their derivatives") {
  for (const char* name : {"identity", "relu", "gelu", "tanh", "sigmoid", "selu"}) {
    CAPTURE(name);
    const ActivationKind kind = *native_kind(name);
    const Expr expression = activation(name).expression;
    const Expr derivative = differentiate(expression, "x");
    for (int i = -80; i <= 80; ++i) {
      const double x = i / 10.0 + 0.0123;
      CAPTURE(x);
      const double tolerance = 16.0 * std::numeric_limits<double>::epsilon() * (1.0 + std::fabs(x));
      CHECK(std::fabs(value(kind, x) - evaluate(expression, {{"x", x}})) < tolerance);
      CHECK(std::fabs(slope(kind, x) - evaluate(derivative, {{"x", x}})) < tolerance);
    }
  }
}

TEST_CASE("far out the activations reach their limits without NaN") {
  for (const double x : {40.0, 1000.0, 1e300}) {
    CHECK(value(ActivationKind::gelu, x) == x);
    CHECK(value(ActivationKind::gelu, -x) == 0.0);
    CHECK(slope(ActivationKind::gelu, x) == 1.0);
    CHECK(slope(ActivationKind::gelu, -x) == 0.0);
    CHECK(value(ActivationKind::sigmoid, x) == 1.0);
    CHECK(value(ActivationKind::sigmoid, -x) < std::exp(-39.0));
    CHECK(slope(ActivationKind::sigmoid, x) == slope(ActivationKind::sigmoid, -x));
    CHECK(value(ActivationKind::selu, -x) ==
          doctest::Approx(-Selu<double>::scale * Selu<double>::alpha));
    CHECK(value(ActivationKind::tanh, -x) == -1.0);
  }
}

TEST_CASE("the normal distribution in single precision is within a few units of double's") {
  constexpr double unit = std::numeric_limits<float>::epsilon();
  for (int i = -1290; i <= 1290; ++i) {
    const float x = static_cast<float>(i) / 100.0F;
    const Normal<double> expected(x);
    const Normal<float> got(x);
    CAPTURE(x);
    // A dozen roundings, and x^2/2 times that of the exponent.
    const double tolerance = (8.0 + static_cast<double>(x) * static_cast<double>(x) / 2.0) * unit;
    CHECK(std::fabs(got.cdf - expected.cdf) <= tolerance * expected.cdf);
    CHECK(std::fabs(got.density - expected.density) <= tolerance * expected.density);
  }
  CHECK(Normal<float>(-60.0F).cdf == 0.0F);
  CHECK(Normal<float>(60.0F).cdf == 1.0F);
}

TEST_CASE("gelu keeps its relative accuracy in the negative tail") {
  // x Phi(x) at x = -10: Phi(-10) = 7.6198530241605260660e-24.
  CHECK(value(ActivationKind::gelu, -10.0) ==
        doctest::Approx(-7.6198530241605260660e-23).epsilon(1e-14));
}

}  // namespace scalecalc::tensor
