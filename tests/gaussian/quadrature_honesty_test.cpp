#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "quadrature_support.hpp"
#include "scalecalc/error.hpp"

// The stated error against the true one, from 22 digits by Gauss-Legendre in another arithmetic.

namespace scalecalc {
namespace {

void check_honest(const Activation& phi, Moment moment, Dyadic mean, Dyadic variance,
                  std::optional<Dyadic> c = std::nullopt) {
  INFO(phi.name(), " ", to_string(moment), " mean=", mean.value(), " q=", variance.value(),
       " c=", c ? c->value() : 0.0);
  GaussianInput input{mean.value(), variance.value(), std::nullopt};
  if (c) input.correlation = c->value();
  const Estimate found = quadrature(phi, moment, input);
  const double exact = exact_moment(phi, moment, mean, variance, c);
  CHECK(std::fabs(found.value - exact) <= found.error);
}

TEST_CASE("one variable: every kind of activation, q and mean") {
  const Dyadic variances[] = {{1, -26}, {1, -10}, {3, -2}, {1, 26}};
  for (const char* name : {"tanhshrink", "elu", "hardshrink", "gaussian"}) {
    const Activation phi = Activation::named(name);
    for (const Dyadic variance : variances) {
      for (const Dyadic mean : {Dyadic{3, -3}, Dyadic{-6, 0}}) {
        for (const Moment moment : {Moment::mean, Moment::second}) {
          check_honest(phi, moment, mean, variance);
        }
      }
    }
  }
}

TEST_CASE("far in the tail the result is what is left") {
  for (const char* name : {"relu", "hardshrink", "relu_squared"}) {
    const Activation phi = Activation::named(name);
    for (const Dyadic mean : {Dyadic{-12, 0}, Dyadic{-25, 0}, Dyadic{-36, 0}}) {
      check_honest(phi, Moment::mean, mean, {1, 0});
      check_honest(phi, Moment::fourth, mean, {1, 0});
      check_honest(phi, Moment::second, mean, {5, 0});
    }
  }
}

TEST_CASE("a feature far from the mean") {
  for (const char* name : {"gaussian", "tanh"}) {
    const Activation phi = Activation::named(name);
    for (const Dyadic mean : {Dyadic{9, 0}, Dyadic{-3, 14}, Dyadic{9, 13}}) {
      check_honest(phi, Moment::mean, mean, {1, 26});
    }
  }
}

TEST_CASE("pairs") {
  const Dyadic correlations[] = {{1, -1}, {-7, -3}};
  for (const char* name : {"relu", "hard_tanh", "elu"}) {
    const Activation phi = Activation::named(name);
    for (const Dyadic c : correlations) {
      check_honest(phi, Moment::cross, {1, -2}, {1, 0}, c);
      check_honest(phi, Moment::slope_cross, {0, 0}, {3, -1}, c);
    }
  }
}

void check_against_closed_form(const Activation& phi, Moment moment, const GaussianInput& input) {
  INFO(phi.name(), " ", to_string(moment), " mean=", input.mean, " q=", input.variance,
       " c=", input.correlation.value_or(0));
  const Estimate found = quadrature(phi, moment, input);
  const auto exact = closed_form_value(phi, moment, input);
  REQUIRE(exact);
  CHECK(exact->value != 0);
  CHECK(std::fabs(found.value - exact->value) <= found.error + exact->error);
  // Two digits short of smooth integrands: kinks, tails and nearly equal inputs.
  CHECK(found.error <= 100 * stated_share * std::fabs(exact->value));
}

TEST_CASE("a band between two breaks is found, however wide the input") {
  const Activation hat = Activation::from_expression("max(0, 1 - abs(x))");
  for (const double mean : {0.0, 5000.0, 12345.0}) {
    check_against_closed_form(hat, Moment::mean, {mean, 1e8, {}});
  }
  for (const double c : {-0.9, 0.5, 0.999, 0.999999}) {
    check_against_closed_form(Activation::named("relu6"), Moment::slope_cross, {0, 1e4, c});
    // Here breaks of both inputs lie where their coordinates cancel.
    check_against_closed_form(Activation::named("hard_tanh"), Moment::slope_cross, {5000, 1e8, c});
  }
}

// E e^(u + v) = e^(q (1 + c)), from places far from the mean.
TEST_CASE("digits of a pair that grows") {
  const double found =
      exact_moment(Activation::named("exp"), Moment::cross, {0, 0}, {25, 0}, Dyadic{1, -1}, 12);
  CHECK(std::fabs(found - std::exp(37.5)) <= 1e-11 * found);  // 12 digits
}

// The slope of hard_swish has a zero halfway between its breaks.
/// Powers that overflow stand beside probabilities that underflow.
TEST_CASE("closed forms of pairs are numbers at any variance and correlation") {
  for (const char* name : {"relu", "elu", "selu", "gelu", "hard_tanh", "sin"}) {
    const Activation phi = Activation::named(name);
    for (const double q : {1e-6, 0.3, 40.0, 900.0, 5e3, 1.7656e4, 3e4, 1e6, 1e20, 1e40}) {
      for (const double c : {-0.999, -0.3, -1e-3, 1e-9, 1e-3, 5.33e-3, 0.2, 0.9, 0.99999}) {
        for (const Moment moment : {Moment::cross, Moment::slope_cross}) {
          const GaussianInput input{0, q, c};
          const auto exact = closed_form_value(phi, moment, input);
          if (!exact) continue;
          INFO(name, " ", to_string(moment), " q=", q, " c=", c);
          REQUIRE(std::isfinite(exact->value));
          REQUIRE(std::isfinite(exact->error));
          const double size = std::sqrt(closed_form_value(phi, moment, {0, q, 1.0})->value);
          CHECK(exact->error <= 0x1p-50 * std::max(std::fabs(exact->value), size * size));
          if (std::string_view(name) == "sin" && q > 1e3) continue;  // refused: too many waves
          const Estimate found = quadrature(phi, moment, input);
          CHECK(std::fabs(found.value - exact->value) <= found.error + exact->error);
        }
      }
    }
  }
}

TEST_CASE("a zero in the middle of a band") {
  for (const double c : {-0.9999, -0.999999, 0.999999}) {
    check_against_closed_form(Activation::named("hard_swish"), Moment::slope_cross, {0.75, 1e8, c});
  }
}

TEST_CASE("waves too fast for the plane are refused") {
  const Activation wave = Activation::named("sin");
  CHECK(message_of([&] {
          quadrature(wave, Moment::cross, {0, 1e8, 0.5});
        }).find("oscillates too fast") != std::string::npos);
}

TEST_CASE("a jump leaves the slopes of a pair that is not one variable twice") {
  for (const double c : {-1.0, -0.999999, 0.0, 0.999999}) {
    check_against_closed_form(Activation::named("hardshrink"), Moment::slope_cross, {0.5, 1, c});
  }
  CHECK_THROWS_AS(quadrature(Activation::named("hardshrink"), Moment::slope_cross, {0.5, 1, 1.0}),
                  Error);
}

TEST_CASE("a pair of variance 0 on a break is the limit, in double and in digits") {
  const Activation relu = Activation::named("leaky_relu");
  for (const double c : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
    check_against_closed_form(relu, Moment::slope_cross, {0, 0, c});
    const double digits = exact_moment(relu, Moment::slope_cross, {0, 0}, {0, 0},
                                       Dyadic{static_cast<int>(2 * c), -1});
    const Estimate found = quadrature(relu, Moment::slope_cross, {0, 0, c});
    CHECK(std::fabs(found.value - digits) <= found.error);
  }
}

// A pair of independent inputs has the product of the means.
TEST_CASE("a narrow peak with wide tails") {
  const Activation softsign = Activation::named("softsign");
  for (const double q : {1e4, 1e8}) {
    const Estimate mean = quadrature(softsign, Moment::slope_mean, {0, q, {}});
    const Estimate pair = quadrature(softsign, Moment::slope_cross, {0, q, 0.0});
    const double allowed = pair.error + 2 * mean.error * mean.value;
    CHECK(std::fabs(pair.value - mean.value * mean.value) <= allowed);
    CHECK(pair.error <= stated_share * pair.value);
  }
}

TEST_CASE("estimates are not only honest but small") {
  for (const ActivationInfo& info : activations()) {
    const Activation phi = Activation::named(info.name);
    for (const double q : {1e-8, 1e-4, 1.0, 1e3}) {
      if (info.name == "exp" && q > 10) continue;
      const Moments1D all = quadrature_1d(phi, {0, q, std::nullopt});
      INFO(info.name, " q=", q);
      // softshrink and hardshrink see nothing of a narrow input.
      if (all.second.value < 1e-280) continue;
      CHECK(all.second.error <= stated_share * all.second.value);
      CHECK(all.fourth.error <= stated_share * all.fourth.value);
      CHECK(all.mean.error <= stated_share / 10 * std::sqrt(all.second.value));
    }
  }
}

}  // namespace
}  // namespace scalecalc
