#include <doctest/doctest.h>

#include <cmath>

#include "scalecalc/error.hpp"
#include "scalecalc/verify.hpp"

using namespace scalecalc;

namespace {

SweepOptions predicted() {
  SweepOptions options;
  options.engine = SweepEngine::quadrature;
  options.update = optimizer("sgd").update;
  options.layers = {8, 2, 8};
  options.model.placement = Placement::pre;
  options.model.alpha = options.model.lambda = Expr(1);
  return options;
}

}  // namespace

TEST_CASE("a predicted sweep has one sample a depth, each depth once") {
  const SweepResult result = sweep(predicted());
  REQUIRE(result.points.size() == 2);
  CHECK(result.points[0].layers == 2);
  CHECK(result.points[1].layers == 8);
  for (const SweepPoint& point : result.points) {
    CHECK(point.samples.size() == 1);
    CHECK(std::isnan(point.standard_error));
    CHECK(point.value > 0);
  }
  CHECK(result.exponent > 0);
}

TEST_CASE("what has no prediction is refused, and so are wrong options") {
  SweepOptions options = predicted();
  options.quantity = Quantity::probe;
  CHECK_THROWS_AS(sweep(options), Error);
  options = predicted();
  options.layers = {};
  CHECK_THROWS_AS(sweep(options), Error);
  options.layers = {0};
  CHECK_THROWS_AS(sweep(options), Error);
}
