#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "scaling/exact/step_sizes.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;
using namespace scalecalc::exact;

namespace {

Step step(const char* name) {
  return Step(optimizer(name).update);
}

// 16 x 9 entries of second moment 4, gradient entries of second moment 1/4, many tokens.
const MatrixSizes sizes = matrix_sizes(16, 9, 1000000, 4.0, 0.25, 0.0);

}  // namespace

TEST_CASE("the sum of |entries| goes from 2/pi at one token to sqrt(2/pi) at many") {
  CHECK(one_norm_shape(1) == rounded(2 / std::numbers::pi, 64));
  // Two tokens: |entry| is the product of independent |N(0,1)| and a Rayleigh variable.
  CHECK(one_norm_shape(2) ==
        rounded(std::sqrt(2 / std::numbers::pi) * std::sqrt(std::numbers::pi) / 2, 64));
  // The next order of the ratio of Gamma functions is 1 - 1/(4 T).
  CHECK(one_norm_shape(1000) ==
        doctest::Approx(std::sqrt(2 / std::numbers::pi) * (1 - 0.25e-3)).epsilon(1e-6));
}

TEST_CASE("singular values follow Marchenko and Pastur's law") {
  CHECK(mean_singular_value(0) == rounded(1, 64));
  // The density's root at 0 leaves the integral seven digits.
  CHECK(mean_singular_value(1) == doctest::Approx(8 / (3 * std::numbers::pi)).epsilon(1e-7));
  // E s = 1 - ratio/8 - ratio^2/64 + ..., from the moments 1, 1 + ratio, ... of s^2.
  CHECK(mean_singular_value(0.01) == doctest::Approx(1 - 0.00125).epsilon(1e-5));
}

TEST_CASE("nuclear norms: few tokens bound the rank, many give a Gaussian matrix") {
  // The next order is 1/n.
  CHECK(nuclear_shape(1000, 1000, 1) == doctest::Approx(1).epsilon(0.001));
  CHECK(nuclear_shape(4096, 4096, 4) == doctest::Approx(2).epsilon(0.001));
  // docs/theory/scaling.md#step-sizes: .8364 n^(1/2) measured at T = 8 n; two digits of it are the
  // product rule's own error.
  CHECK(nuclear_shape(512, 512, 4096) / std::sqrt(512.0) == doctest::Approx(0.8364).epsilon(0.005));
  CHECK(nuclear_shape(3, 7, 5) == doctest::Approx(nuclear_shape(7, 5, 3)));
}

TEST_CASE("the spread over draws lowers averages of |g|, not of g^2") {
  const MatrixSizes wide = matrix_sizes(16, 9, 1000000, 4.0, 0.25, 0.8);
  CHECK(wide.frobenius == sizes.frobenius);
  CHECK(wide.one == doctest::Approx(sizes.one * std::exp(-0.1)));
  CHECK(wide.nuclear == doctest::Approx(sizes.nuclear * std::exp(-0.1)));
}

TEST_CASE("loss change and step of every family, by hand") {
  const double root = std::sqrt(2 / std::numbers::pi);
  CHECK(sizes.frobenius == doctest::Approx(6));
  CHECK(sizes.theta == doctest::Approx(24));
  CHECK(step("sgd").change(sizes, 10) == doctest::Approx(36));
  CHECK(step("sgd").size(sizes, 10) == doctest::Approx(6));
  // Of 1e6 tokens the one-norm is 1 - 1/(4 T) of its limit.
  CHECK(step("adam").change(sizes, 10) == doctest::Approx(144 * 0.5 * root).epsilon(1e-6));
  CHECK(step("adam").size(sizes, 10) == doctest::Approx(12));
  CHECK(step("lamb").change(sizes, 10) == doctest::Approx(2 * 144 * 0.5 * root).epsilon(1e-6));
  CHECK(step("lars").change(sizes, 10) == doctest::Approx(24 * 6));
  CHECK(step("lars").size(sizes, 10) == doctest::Approx(24));
  CHECK(step("ngd").change(sizes, 10) == doctest::Approx(3.6));
  CHECK(step("muon").size(sizes, 10) == doctest::Approx(3));
  CHECK(step("muon").change(sizes, 10) == doctest::Approx(sizes.nuclear));
}

TEST_CASE("a matrix without a gradient does not step, whatever the norm below it") {
  const MatrixSizes still = matrix_sizes(4, 4, 8, 1.0, 0.0, 0.0);
  for (const char* name : {"sgd", "adam", "lamb", "lars", "muon"}) {
    CHECK(step(name).change(still, 1) == 0);
    CHECK(step(name).size(still, 1) == 0);
  }
}

TEST_CASE("rules without one direction are refused") {
  const auto refused = [](const char* rule) {
    ParseOptions options;
    options.otherwise = Assumption::real;
    CHECK_THROWS_AS(Step(parse(rule, options)), Error);
  };
  refused("theta");
  refused("g + theta");
  refused("g*sign(g)");
  refused("norm(g)");
  refused("sign(theta)");
}
