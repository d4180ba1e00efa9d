#include "scaling/growing_stream.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

StepLaw law_of(const char* name) {
  return step_law(family(name).update);
}

/// The integral of the equation by a fine midpoint sum.
double left_side(double lambda, double p, double s, double branches) {
  const int steps = 400000;
  const double width = branches / steps;
  double sum = 0;
  for (int i = 0; i < steps; ++i)
    sum += std::pow(1 + (i + 0.5) * width * lambda * lambda, -p / 2) * width;
  return std::pow(lambda, s) * sum;
}

}  // namespace

TEST_CASE("roots satisfy the integral they stand for") {
  for (const char* name : {"sgd", "adam", "lamb"}) {
    for (const double branches : {2.0, 24.0, 200.0}) {
      CAPTURE(name);
      CAPTURE(branches);
      const StepLaw law = law_of(name);
      const double lambda = growing_stream_root(law, branches);
      const double value = left_side(lambda, law.gradient_power.to_double(),
                                     law.parameter_power.to_double(), branches);
      // Midpoint error: h^2/24 times the change of the integrand's slope, below (h lambda^2)^2/8.
      const double h = branches / 400000 * lambda * lambda;
      CHECK(std::fabs(value - 1) < h * h + rounding(50000));
    }
  }
}

TEST_CASE("sgd at 12 layers: lambda^2 = ln(1 + 2N lambda^2) is 4.74") {
  CHECK(std::pow(growing_stream_root(law_of("sgd"), 24), 2) == printed(4.74, 5e-3));
}

TEST_CASE("closed forms agree with the roots, and solve the equation exactly") {
  const Expr n = 2 * Expr::symbol("N");
  for (const char* name : {"adam", "lamb", "muon"}) {
    const StepLaw law = law_of(name);
    const auto closed = growing_stream_lambda(law, n);
    REQUIRE(closed);
    for (const double depth : {1.0, 12.0, 1e6})
      CHECK(evaluate(*closed, {{"N", depth}}) == rounded(growing_stream_root(law, 2 * depth), 512));
    // From depth 1 on: 2N - 1 is not positive below.
    const Expr back = substitute(substitute(growing_stream_equation(law, n), {{"lambda", *closed}}),
                                 {{"N", 1 + Expr::symbol("N")}});
    CHECK(equal(back, 1).verdict == Equality::Verdict::equal);
  }
  CHECK_FALSE(growing_stream_lambda(law_of("sgd"), n));
}
