#include <doctest/doctest.h>

#include <cmath>

#include "scalecalc/gains.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

Gains at(const char* name, double mean = 0, double variance = 1) {
  return gains(Activation::named(name), {mean, variance, {}});
}

}  // namespace

TEST_CASE("forward and backward gains at unit variance") {
  const struct {
    const char* name;
    double forward, backward;
  } rows[] = {{"relu", 1.414214, 1.41421},
              {"gelu", 1.53353044, 1.48111},
              {"gelu_tanh", 1.53358052, 1.48117},
              {"silu", 1.67653247, 1.62332},
              {"mish", 1.48684758, 1.44476},
              {"elu", 1.24519830, 1.22343},
              {"selu", 1, 0.96603},
              {"tanh", 1.59253742, 1.46741},
              {"sigmoid", 1.84622855, 4.72265}};
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const Gains found = at(row.name);
    CHECK(found.second->value == printed(row.forward, 5e-7));
    CHECK(found.backward->value == printed(row.backward, 5e-6));
    CHECK(found.compromise->value ==
          rounded(std::sqrt(found.second->value * found.backward->value), 8));
    // What gains promise.
    CHECK(found.second->error <= 1e-12 * found.second->value);
  }
}

TEST_CASE("the two definitions of the gain of gelu, and the slope at each") {
  const Gains gelu = at("gelu");
  CHECK(gelu.second->value == printed(1.53353044, 5e-9));
  CHECK(gelu.activation->value == printed(1.46801, 5e-6));
  CHECK(gelu.q_slope->value == printed(1.144, 5e-4));
  CHECK(*gelu.q_slope_activation == printed(1.084, 5e-4));
  CHECK_FALSE(gelu.stable);
  const Gains silu = at("silu");
  CHECK(silu.q_slope->value == printed(1.173, 5e-4));
  CHECK(*silu.q_slope_activation == printed(1.147, 5e-4));
}

TEST_CASE("the activation's gain is a root to the error it states") {
  for (const std::string name : {"gelu", "silu", "mish", "elu", "softplus", "exp", "tanhshrink"}) {
    CAPTURE(name);
    const Activation phi = Activation::named(name);
    const Gains found = gains(phi, {});
    if (!found.activation) continue;
    const double s = found.activation->value;
    const Estimate second = quadrature(phi, Moment::second, {0, s * s, {}});
    const double slope = 2 * *found.q_slope_activation;
    CHECK(std::fabs(second.value - 1) <=
          second.error + slope * found.activation->error / s + rounding(2));
  }
}

TEST_CASE("the slope is the derivative of the logarithm") {
  // A central difference with step h is off by about h^2, and by the error of E phi^2 over h.
  for (const std::string name :
       {"tanh", "gelu", "selu", "sigmoid", "hardshrink", "softplus", "hard_tanh"}) {
    for (double mean : {0.0, 0.75}) {
      CAPTURE(name);
      CAPTURE(mean);
      const Activation phi = Activation::named(name);
      const double h = 1e-4;  // h^2 = 1e-8 of a third derivative, and 1e-13/h of quadrature
      const auto log_second = [&](double q) {
        return std::log(quadrature(phi, Moment::second, {mean, q, {}}).value);
      };
      const double difference = (log_second(std::exp(h)) - log_second(std::exp(-h))) / (2 * h);
      // Of the difference above.
      CHECK(gains(phi, {mean, 1, {}}).q_slope->value == doctest::Approx(difference).epsilon(1e-6));
    }
  }
}

TEST_CASE("the centred gain does not cancel") {
  // Var sigmoid(u) = q/16 (1 + O(q)) at small q, where E phi^2 is 1/4.
  const double q = 1e-8;
  CHECK(at("sigmoid", 0, q).variance->value == doctest::Approx(4 / std::sqrt(q)).epsilon(q));
  // NFNet's constants are samples of these.
  CHECK(at("gelu").variance->value == doctest::Approx(1.70150435).epsilon(2e-3));
  CHECK(at("relu").variance->value == rounded(1 / std::sqrt(0.5 - 0.15915494309189535), 64));
}

TEST_CASE("what is out of reach says so") {
  const Gains tanh = at("tanh");
  CHECK_FALSE(tanh.activation);
  CHECK(tanh.unavailable.at("gain_activation").find("to 0.9999") != std::string::npos);
  CHECK(tanh.note.find("1.5925374*phi(x)") != std::string::npos);
  CHECK(tanh.stable);
  CHECK_FALSE(at("sigmoid").activation);

  const Gains jump = at("hardshrink");
  CHECK_FALSE(jump.backward);
  CHECK_FALSE(jump.compromise);
  CHECK(jump.second);
  CHECK(jump.unavailable.at("gain_backward").find("jumps at x = -1/2") != std::string::npos);

  const Gains point = at("relu", 0, 0);
  CHECK_FALSE(point.second);
  CHECK_FALSE(point.q_slope);
  const Gains constant = gains(Activation::from_expression("2"), {});
  CHECK(constant.second->value == 0.5);
  CHECK_FALSE(constant.variance);
  CHECK_FALSE(constant.backward);
}

TEST_CASE("a divergent expectation is an error of the input") {
  try {
    gains(Activation::from_expression("exp(x^2)"), {});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(std::string(error.what()).find("expectation does not exist") != std::string::npos);
  }
  CHECK_THROWS_AS(at("relu", 0, -1), Error);
  CHECK_THROWS_AS(at("relu", NAN, 1), Error);
}
