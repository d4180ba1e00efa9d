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
  made.sum = stream_sum(made.from, 1, {0, 0.8});
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

TEST_CASE("a narrow branch leaves a stream what activations make of it") {
  // Three sums in a row; v is a thousandth of a cell wide, and more.
  for (const double variance : {1e-8, 1e-5}) {
    CAPTURE(variance);
    constexpr int sums = 3;
    const Activation phi = Activation::from_expression("tanh(3*x/2)");
    auto cells = std::make_shared<const StreamCells>(stream_cells(phi, gaussian_law(0, 1)));
    double width = 0;  // of a cell
    for (int i = 0; i < sums; ++i) {
      const auto sum = stream_sum(cells, 1, {0, variance});
      REQUIRE(sum != nullptr);
      width = std::max(width, sum->to->step);
      // Cells keep the mean and the variance but for parts that would lie beyond a cell.
      const StreamLaw& to = *sum->to;
      const double mean = (to.chance * to.middle).sum();
      const double square =
          (to.chance * ((to.middle - mean).square() + to.width.square() / 12)).sum();
      // Each of 160 cells has rounding.
      CHECK(std::fabs(mean - to.mean) <= 160 * 2.3e-16 * std::sqrt(to.variance));
      CHECK(square == near(to.variance, to.step * to.step / 4 / to.variance));
      cells = std::make_shared<const StreamCells>(stream_cells(phi, to));
    }
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    Sample first, second, slope;
    for (int i = 0; i < 200000; ++i) {
      double x = normal(random);
      for (int k = 0; k < sums; ++k) x = phi.value(x) + std::sqrt(variance) * normal(random);
      first.add(phi.value(x));
      second.add(phi.value(x) * phi.value(x));
      slope.add(phi.slope(x) * phi.slope(x));
    }
    // Within a cell x' is taken for even: a slope that bends by b in it is off by b width^2/24 at
    // most, (phi^2)'' and (phi'^2)'' being 9 and 14 at most for tanh(3x/2); once a sum.
    const double bend = sums * 14 * width * width / 24;
    const auto close = [&](double predicted, const Sample& drawn) {
      CAPTURE(predicted);
      CAPTURE(drawn.mean());
      CHECK(std::fabs(predicted - drawn.mean()) <= deviations * drawn.standard_error() + bend);
    };
    const Eigen::ArrayXd& chance = cells->law.chance;
    close((chance * cells->value).sum(), first);
    close((chance * cells->square).sum(), second);
    close((chance * cells->slope_square).sum(), slope);
  }
}

TEST_CASE("a gradient knows the stream through a narrow branch") {
  // E phi'(x')^2 phi'(x)^2 of x' = phi(x) + v, and what v has of it.
  const Activation phi = Activation::from_expression("tanh(3*x/2)");
  constexpr double variance = 1e-6;
  const auto from = std::make_shared<const StreamCells>(stream_cells(phi, gaussian_law(0, 1)));
  const auto sum = stream_sum(from, 1, {0, variance});
  REQUIRE(sum != nullptr);
  const auto to = std::make_shared<const StreamCells>(stream_cells(phi, *sum->to));
  const Eigen::ArrayXd& chance = to->law.chance;
  const double slope = (chance * to->slope_square).sum();
  const StreamPassed top = through_slopes(to, nullptr, {0, 1, 0, 0}, {0, slope, 0, 0}, {}, {});
  const StreamParts parts = through_stream_sum(*sum, top.known, top.x, {0, variance, 0, 0});
  const StreamPassed low = through_slopes(from, &parts.stream, top.x, {}, {}, {0, 1, 0, 0});
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  Sample both, branch;
  for (int i = 0; i < 200000; ++i) {
    const double x = normal(random), v = std::sqrt(variance) * normal(random);
    const double above = phi.slope(phi.value(x) + v);
    both.add(above * above * phi.slope(x) * phi.slope(x));
    branch.add(above * above * v * v / variance);
  }
  // Slopes of x in a cell and of x' in the cells it goes to are averaged apart: both bend by 14.
  const double width = std::max(from->law.step, to->law.step), bend = 2 * 14 * width * width / 24;
  CAPTURE(low.x.second);
  CAPTURE(both.mean());
  CHECK(std::fabs(low.x.second - both.mean()) <= deviations * both.standard_error() + bend);
  CHECK(std::fabs(parts.product.second / variance - branch.mean()) <=
        deviations * branch.standard_error() + bend);
  // The product of the means is not it.
  CHECK(std::fabs(low.x.second - slope * (from->law.chance * from->slope_square).sum()) > 2 * bend);
}

TEST_CASE("dropout at the input and in branches leaves a stream its kinds") {
  // x = m u, x' = phi(x) + m' v, x'' = phi(x') + m'' v' with masks of rates p and p', and back
  // through the first sum.
  constexpr double p = 0.3, of_branch = 0.4, variance = 0.5;
  const Activation phi = Activation::from_expression("tanh(3*x/2)");
  const Mixture in = dropped({}, p);
  const StreamBranch v{0, variance, true, dropped({}, of_branch)};
  const auto first = std::make_shared<const StreamCells>(stream_cells(phi, law_of_kinds(in, 1)));
  const auto sum = stream_sum(first, 1, v);
  REQUIRE(sum != nullptr);
  const auto second = std::make_shared<const StreamCells>(stream_cells(phi, *sum->to));
  const auto last = stream_sum(second, 1, v);
  REQUIRE(last != nullptr);
  const StreamCells end = stream_cells(phi, *last->to);
  const double slope = (second->law.chance * second->slope_square).sum();
  const StreamPassed top = through_slopes(second, nullptr, {0, 1, 0, 0}, {0, slope, 0, 0}, {}, {});
  const StreamParts parts = through_stream_sum(*sum, top.known, top.x, {0, variance, 0, 0});
  const StreamPassed low = through_slopes(first, &parts.stream, top.x, {}, {}, {0, 1, 0, 0});
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> even;
  const auto mask = [&](double rate) { return even(random) < rate ? 0 : 1 / std::sqrt(1 - rate); };
  Sample square, value, end_square, end_slope, both, branch;
  for (int i = 0; i < 400000; ++i) {
    const double x = mask(p) * normal(random);
    const double own = mask(of_branch) * std::sqrt(variance) * normal(random);
    const double y = phi.value(x) + own;
    const double z = phi.value(y) + mask(of_branch) * std::sqrt(variance) * normal(random);
    square.add(phi.value(x) * phi.value(x));
    value.add(phi.value(y) * phi.value(y));
    end_square.add(phi.value(z) * phi.value(z));
    end_slope.add(phi.slope(z) * phi.slope(z));
    both.add(std::pow(phi.slope(y) * phi.slope(x), 2));
    branch.add(std::pow(phi.slope(y) * own, 2));
  }
  // Cells bend functions as behind a narrow branch: (phi^2)'' and (phi'^2)'' are 9 and 14 at most.
  const double width = std::max({first->law.step, second->law.step, end.law.step});
  const double bend = 14 * width * width / 24;
  const auto close = [&](const char* what, double predicted, const Sample& drawn, int times) {
    CAPTURE(what);
    CAPTURE(predicted);
    CAPTURE(drawn.mean());
    CHECK(std::fabs(predicted - drawn.mean()) <=
          deviations * drawn.standard_error() + times * bend);
  };
  close("E phi(x)^2", (first->law.chance * first->square).sum(), square, 1);
  close("E phi(x')^2", (second->law.chance * second->square).sum(), value, 2);
  close("E phi(x'')^2", (end.law.chance * end.square).sum(), end_square, 3);
  close("E phi'(x'')^2", (end.law.chance * end.slope_square).sum(), end_slope, 3);
  close("E phi'(x')^2 phi'(x)^2", low.x.second, both, 2);
  close("E phi'(x')^2 v^2", parts.product.second, branch, 2);
  // Of a normal x of the same variance it is another.
  const StreamCells normal_x = stream_cells(phi, gaussian_law(0, 1));
  CHECK(std::fabs((normal_x.law.chance * normal_x.square).sum() - square.mean()) >
        10 * square.standard_error());
}

TEST_CASE("a branch of which cells cannot tell the law") {
  const auto from = std::make_shared<const StreamCells>(
      stream_cells(Activation::named("relu"), gaussian_law(0, 1)));
  CHECK(stream_sum(from, 1, {0, 0}) == nullptr);
  CHECK(stream_sum(from, 1, {0, 1, false}) == nullptr);
  CHECK(stream_sum(from, 1, {0, 1e-8}) == nullptr);
  CHECK(stream_sum(from, 1, {0, 1}) != nullptr);
  const auto smooth = std::make_shared<const StreamCells>(
      stream_cells(Activation::named("tanh"), gaussian_law(0, 1)));
  CHECK(stream_sum(smooth, 1, {0, 1e-8, false}) != nullptr);
  // A branch's own dropout leaves the stream's atom where it is.
  CHECK(stream_sum(from, 1, {0, 1, true, dropped({}, 0.1)}) == nullptr);
  CHECK(stream_sum(smooth, 1, {0, 1, true, dropped({}, 0.1)}) != nullptr);
}
