#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "quadrature_support.hpp"

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

TEST_CASE("estimates are not only honest but small") {
  for (const ActivationInfo& info : activations()) {
    const Activation phi = Activation::named(info.name);
    for (const double q : {1e-8, 1e-4, 1.0, 1e3}) {
      if (info.name == "exp" && q > 10) continue;
      const Moments1D all = quadrature_1d(phi, {0, q, std::nullopt});
      INFO(info.name, " q=", q);
      // softshrink and hardshrink see nothing of a narrow input.
      if (all.second.value < 1e-280) continue;
      CHECK(all.second.error <= 1e-13 * all.second.value);
      CHECK(all.fourth.error <= 1e-13 * all.fourth.value);
      CHECK(all.mean.error <= 1e-14 * std::sqrt(all.second.value));
    }
  }
}

}  // namespace
}  // namespace scalecalc
