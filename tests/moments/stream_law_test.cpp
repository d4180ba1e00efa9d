#include "moments/stream_law.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "sample.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

// 4.5 standard errors of each of some 20 averages, and of cells 0.09 deviations wide what they
// leave of a kink: 0.09^2/12 of a density of at most 1.
constexpr double deviations = 4.5, of_cells = 1e-3;

void check(const char* what, double predicted, const Sample& drawn) {
  CAPTURE(what);
  CAPTURE(predicted);
  CAPTURE(drawn.mean());
  CHECK(std::fabs(predicted - drawn.mean()) <=
        deviations * drawn.standard_error() + of_cells * std::max(1.0, std::fabs(predicted)));
}

struct Stream {
  std::shared_ptr<const StreamCells> from;
  std::shared_ptr<const StreamSum> sum;
  StreamCells next;
  Alike<double> u, v, x;
};

/// relu(u) + v with pairs of u and of v of these correlations; x the moments of the sum.
Stream stream(double of_u, double of_v) {
  const Activation relu = Activation::named("relu");
  Stream made;
  made.u = {0.3, 0.09 + 2, 0.09 + 2 * of_u, 0.09};
  made.v = {0, 0.8, 0.8 * of_v, 0};
  made.from = std::make_shared<const StreamCells>(stream_cells(relu, gaussian_law(0.3, 2)));
  made.sum = stream_sum(made.from, 1, 0, 0.8);
  REQUIRE(made.sum != nullptr);
  made.next = stream_cells(relu, *made.sum->to);
  const StreamLaw& law = made.from->law;
  const double mean = (law.chance * made.from->value).sum();
  const StreamPairs pairs(law, 2 * of_u);
  made.x = {mean, (law.chance * made.from->square).sum() + 0.8,
            pairs(made.from->value) + 0.8 * of_v, mean * mean};
  return made;
}

}  // namespace

TEST_CASE("a stream behind an activation is not Gaussian") {
  // Of independent samples of u and v a pair is exact.
  const Stream of = stream(0, 0);
  const Activation relu = Activation::named("relu");
  const StreamExcess excess = stream_excess(relu, of.next, of.x);
  const double q = of.x.second - of.x.mean * of.x.mean;
  const StreamCells gaussian = stream_cells(relu, gaussian_law(of.x.mean, q));
  const auto mean = [&](const Eigen::ArrayXd& f) { return (gaussian.law.chance * f).sum(); };
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  Sample first, second, slope;
  for (int i = 0; i < 400000; ++i) {
    const double x =
        std::max(0.0, 0.3 + std::sqrt(2.0) * normal(random)) + std::sqrt(0.8) * normal(random);
    first.add(std::max(0.0, x));
    second.add(std::max(0.0, x) * std::max(0.0, x));
    slope.add(x > 0 ? 1 : 0);
  }
  check("E phi", mean(gaussian.value) + excess.values.mean, first);
  check("E phi^2", mean(gaussian.square) + excess.values.second, second);
  check("E phi'^2", mean(gaussian.slope_square) + excess.slopes.second, slope);
  // Without it E phi'^2 would be off by more than all that.
  CHECK(std::fabs(excess.slopes.second) > 10 * slope.standard_error());
  const double one = mean(gaussian.value) + excess.values.mean;
  const StreamPairs pairs(of.sum->to ? *of.sum->to : of.next.law, 0);
  CHECK(pairs(of.next.value) == near(one * one, 1e-6));
}

TEST_CASE("slopes along a stream follow it") {
  // A gradient h of x'' = relu(relu(u) + v) with pairs of correlation k, back to u, where a norm
  // meets u, and to v.
  constexpr double k = 0.6;
  const Stream of = stream(0, 0);
  const auto cells = std::make_shared<const StreamCells>(of.next);
  const double slope = (of.next.law.chance * of.next.slope).sum();
  const Alike<double> slopes{0, (of.next.law.chance * of.next.slope_square).sum(), slope * slope,
                             slope * slope};
  const StreamPassed top = through_slopes(cells, nullptr, {0, 1, k, 0}, slopes, {}, of.x);
  const StreamParts parts = through_stream_sum(*of.sum, top.known, top.x, of.v);
  const double half = (of.from->law.chance * of.from->slope).sum();
  const StreamPassed low =
      through_slopes(of.from, &parts.stream, top.x, {0, half, half * half, half * half}, {}, of.u);
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  Sample second, cross, branch_second, branch_cross, input_second, input_cross;
  for (int i = 0; i < 400000; ++i) {
    const double common = std::sqrt(k) * normal(random);
    double g[2], with_u[2], with_v[2];
    for (int t = 0; t < 2; ++t) {
      const double u = std::sqrt(2.0) * normal(random), v = std::sqrt(0.8) * normal(random);
      const double h = common + std::sqrt(1 - k) * normal(random);
      const double at_sum = std::max(0.0, 0.3 + u) + v > 0 ? h : 0;
      with_v[t] = v * at_sum;
      g[t] = 0.3 + u > 0 ? at_sum : 0;
      with_u[t] = u * g[t];
    }
    second.add(g[0] * g[0]);
    cross.add(g[0] * g[1]);
    input_second.add(with_u[0] * with_u[0]);
    input_cross.add(with_u[0] * with_u[1]);
    branch_second.add(with_v[0] * with_v[0]);
    branch_cross.add(with_v[0] * with_v[1]);
  }
  check("E g^2", low.x.second, second);
  check("E g g", low.x.cross, cross);
  check("E u^2 g^2", low.product.second, input_second);
  check("E u g u g", low.product.cross, input_cross);
  check("E v^2 g^2", parts.product.second, branch_second);
  check("E v g v g", parts.product.cross, branch_cross);
  // The product of mean slopes is not it.
  CHECK(std::fabs(top.x.second * half - second.mean()) > 10 * second.standard_error());
}

TEST_CASE("a branch that is too small for the cells has no law") {
  const auto from = std::make_shared<const StreamCells>(
      stream_cells(Activation::named("relu"), gaussian_law(0, 1)));
  CHECK(stream_sum(from, 1, 0, 0) == nullptr);
  CHECK(stream_sum(from, 1, 0, 1e-8) == nullptr);
  CHECK(stream_sum(from, 1, 0, 1) != nullptr);
}
