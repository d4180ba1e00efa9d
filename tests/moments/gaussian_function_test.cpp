#include "moments/gaussian_function.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "scalecalc/gaussian.hpp"

namespace scalecalc::moments {
namespace {

// The first values beyond the Hermite series are integrals by themselves, the later ones of
// polynomials: one function, whichever it is asked for, at one variance and at one new in each
// call.
TEST_CASE("pairs near a correlation of 1 are the same before and after polynomials are made") {
  constexpr int calls = 100;
  for (const char* name : {"gelu", "silu", "tanh"})
    for (const bool wanders : {false, true}) {
      GaussianFunction function(name);
      const Activation phi = activation_of(name);
      for (int k = 0; k < calls; ++k) {
        const double variance = wanders ? 2 + 0.01 * k : 2;
        const double correlation = 1 - std::exp(-3.0 - 0.1 * k);
        const Estimate found = function.pair(Moment::cross, 0, variance, correlation);
        const Estimate direct = quadrature(phi, Moment::cross, {0, variance, correlation});
        CAPTURE(name);
        CAPTURE(wanders);
        CAPTURE(k);
        CHECK(std::fabs(found.value - direct.value) <= found.error + direct.error);
      }
    }
}

// Experts that read one stream ask for the pairs of all its positions, each in its turn.
TEST_CASE("pairs that are asked for again are the same") {
  GaussianFunction function("silu");
  const auto at = [&](int k) {
    return function.pair(Moment::cross, 0, 0.5 + 0.001 * k, 0.1 + 0.005 * k);
  };
  std::vector<Estimate> first;
  for (int k = 0; k < 100; ++k) first.push_back(at(k));
  // From the 25th on it is a panel that answers.
  for (int k = 30; k < 100; ++k) {
    CAPTURE(k);
    CHECK(at(k).value == first[static_cast<std::size_t>(k)].value);
    CHECK(at(k).error == first[static_cast<std::size_t>(k)].error);
  }
}

// A tanh in the place of a norm reads a stream that grows: its pairs exist at any variance.
TEST_CASE("pairs of inputs of a large variance are those of the integral in the plane") {
  for (const char* name : {"gelu_tanh", "tanh", "x*(1 - tanh(x/2)^2)"})
    for (const double variance : {1e5, 2e6, 1e9, 1e11})
      for (const double correlation : {0.1, 0.9}) {
        GaussianFunction function(name);
        const Estimate found = function.pair(Moment::cross, 0, variance, correlation);
        const Estimate direct =
            quadrature(activation_of(name), Moment::cross, {0, variance, correlation});
        CAPTURE(name);
        CAPTURE(variance);
        CAPTURE(correlation);
        CHECK(std::fabs(found.value - direct.value) <= found.error + direct.error);
      }
}

}  // namespace
}  // namespace scalecalc::moments
