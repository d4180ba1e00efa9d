#include "moments/layers/activation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "moments/linear_map.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

const Counts one_sequence{8, 1};
constexpr double pi = std::numbers::pi;

/// Arc-cosine kernels of relu at q = 1, to a few units of rounding: 1 - c is exact from 1/2 on.
double relu_pair(double c) {
  return (std::sqrt((1 - c) * (1 + c)) + (pi - std::acos(c)) * c) / (2 * pi);
}
double relu_slopes(double c) {
  return (pi - std::acos(c)) / (2 * pi);
}

}  // namespace

TEST_CASE("relu halves the second moment; pairs follow the arc-cosine kernels") {
  Numbers numbers = calculus();
  constexpr std::int64_t wide = 1'000'000'000'000;  // what overlaps bend is 1/width
  for (const double c : {-0.5, 0.0, 0.3, 0.9, 0.9999}) {
    ActivationRecord<Pairs> record;
    const auto y = activation_forward(numbers, numbers.function("relu"), signal(1, c, wide),
                                      one_sequence, {true, false}, record);
    CHECK(y.x.mean == near(1 / std::sqrt(2 * pi)));
    CHECK(y.x.second == near(0.5));
    CHECK(y.x.cross == near(relu_pair(c), 10 * by_quadrature));
    CHECK(record.slopes.second == near(0.5));
    CHECK(record.slopes.cross == near(relu_slopes(c), 10 * by_quadrature));
  }
}

// K(r) = q^2 + 2 r^2 of u^2, so that an overlap of variance V adds 2 V; its slopes 4 r have no
// bend, but follow the overlap as the gradient does.
TEST_CASE("overlaps that fluctuate bend the products of pairs") {
  Numbers numbers = calculus();
  const std::int64_t width = 64;
  for (const double c : {-0.2, 0.0, 0.3, 0.9}) {
    ActivationRecord<Pairs> record;
    const auto in = signal(1, c, width);
    const auto y = activation_forward(numbers, numbers.function("square"), in, one_sequence,
                                      {true, false}, record);
    const double variance = (1 - c) * (1 - c) / width;
    CHECK(y.x.cross == near(1 + 2 * c * c + 2 * variance, 10 * by_quadrature));
    const OverlapDeviation overlap = overlap_deviation(numbers, in);
    const SlopeKernel kernel =
        slope_kernel(numbers, numbers.function("square"), Pairs{0, 1, c, 0}, overlap, one_sequence);
    const OverlapSlopes slopes{{0, 0.5 * overlap.coherent}, {}};  // k' = 0.5 r
    const auto more =
        slopes_below(slopes, 0, {0, 1, 0.5 * c, 0}, {overlap, {}, kernel, {}, {}}).bend;
    // By differences of slopes of about 1, over steps of (1 - c)/8 and more. Beside k' D = 0 it is
    // no small term, and stated.
    const double bend = 0.5 * 4 * variance;
    CHECK((c == 0 ? more.left_out : more.kept.cross) == near(bend, 1e-9));
    CHECK((c == 0 ? more.kept.cross : more.left_out) == 0);
  }
}

// y = u^2 of u = sqrt(c) z + sqrt(1 - c) e, z of all tokens: given z a feature has the variance V =
// 4 c (1 - c) z^2 + 2 (1 - c)^2 between them, E V^2/(E V)^2 = (1 + 2 c + 9 c^2)/(1 + c)^2. The mean
// 1 of the features is each token's own.
TEST_CASE("overlaps about the mean over tokens are of what features vary by between them") {
  Numbers numbers = calculus();
  const std::int64_t width = 64;
  for (const double c : {0.0, 0.3, 0.9}) {
    auto in = signal(1, c, width);
    in.overlap = {};
    in.fresh = fresh_overlap({0, 1, c, 0}, 2, width);
    const Pairs slopes{0, 4, 4 * c, 0}, y{1, 3, 1 + 2 * c * c, 1};
    const Overlap<double> overlap = overlap_through_activation(numbers, in, slopes, y, 3);
    const double apart = y.second - y.cross, spread = (1 + 2 * c + 9 * c * c) / ((1 + c) * (1 + c));
    CHECK(overlap.noise * width / (apart * apart) == near(spread + 1));
    auto out = signal(3, y.cross, width);
    out.x = y;
    out.overlap = overlap;
    CHECK(overlap_of_tokens(out) * width / (apart * apart) == near(1));
    // Weights mix the features, and keep apart what each token makes.
    Linear mixing;
    mixing.fan_in = mixing.fan_out = width;
    mixing.std = std::sqrt(2.0 / width);
    const auto mixed = linear_forward(numbers, mixing, out, one_sequence);
    CHECK(overlap_of_tokens(mixed) == near(4 * overlap_of_tokens(out)));
  }
}

TEST_CASE(
    "a gradient that is random passes by the slopes, one along the output by E phi^2 phi'^2") {
  Numbers numbers = calculus();
  ActivationRecord<Pairs> record;
  const auto y = activation_forward(numbers, numbers.function("relu"), signal(1, 0.3, 64),
                                    one_sequence, {true, false}, record);
  Gradient<Pairs> g;
  g.x = {0, 1, 0.1, 0};
  const auto random = activation_backward(numbers, record, g, one_sequence);
  CHECK(random.x.second == near(0.5));
  CHECK(random.x.cross == near(0.1 * relu_slopes(0.3), 10 * by_quadrature));
  // All of it along y: relu lets all of relu pass, of which u relu'(u) relu(u) -> q/2 along u. The
  // sums behind it have steps of 0.04, second order at the kink.
  g.x = y.x;
  g.aligned = 1;
  const auto along = activation_backward(numbers, record, g, one_sequence);
  CHECK(along.x.second == near(0.5, 2e-3));
  CHECK(along.x.cross == near(relu_pair(0.3), 2e-3));
  CHECK(along.aligned == near(0.5, 2e-3));
}

TEST_CASE("close to c = 1 a formula is interpolated after a few values") {
  GaussianFunction relu("relu");
  // Of the formulas above.
  constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
  for (int k = 0; k < 200; ++k) {
    const double c = 1 - 0.1 * std::pow(0.9, k);
    const Estimate found = relu.pair(Moment::cross, 0, 2, c);
    const Estimate slope = relu.pair(Moment::slope_cross, 0, 2, c);
    CHECK(found.value == rounded(2 * relu_pair(c), 180));
    CHECK(slope.value == rounded(relu_slopes(c), 180));
    CHECK(std::fabs(found.value - 2 * relu_pair(c)) <= found.error + rounding);
    CHECK(std::fabs(slope.value - relu_slopes(c)) <= slope.error + rounding);
    CHECK(found.error < 4e-14);  // roundings of 16 values, 2.8 times by their polynomial
    CHECK(slope.error < 4e-14);  // as many
  }
  const Estimate at_one = relu.pair(Moment::cross, 0, 2, 1);
  CHECK(at_one.value == rounded(1, 180));
  CHECK(std::fabs(at_one.value - 1) <= at_one.error);
}

TEST_CASE("where the variance never repeats, pairs are interpolated") {
  GaussianFunction tanh("tanh");
  for (int k = 0; k < 200; ++k) {
    const double q = std::exp(-3 + 0.02 * k), c = 0.7;
    const Estimate found = tanh.pair(Moment::cross, 0, q, c);
    if (k % 37 != 0) continue;
    const Estimate exact = PairFunction(tanh.activation(), Moment::cross, 0, q)(c);
    CHECK(std::fabs(found.value - exact.value) <= found.error + exact.error);
    tanh.expectation(Moment::second, 0, q);
  }
  for (int k = 0; k < 60; ++k) tanh.expectation(Moment::second, 0, 0.5 + 0.01 * k);
  for (const double q : {0.0312, 0.777, 5.4321}) {
    for (const double c : {-0.9, 0.0, 0.4, 0.999}) {
      const Estimate found = tanh.pair(Moment::slope_cross, 0, q, c);
      const Estimate exact = PairFunction(tanh.activation(), Moment::slope_cross, 0, q)(c);
      CHECK(std::fabs(found.value - exact.value) <= found.error + exact.error);
    }
  }
}

TEST_CASE("an activation that jumps has a signal and no gradient, and says so") {
  const Trace trace = trace_of_model("model = {kind=\"mlp\", layers=2, activation=\"hardshrink\"}");
  CHECK(site(trace, "layer[1].act").second.value > 0);
  CHECK_FALSE(site(trace, "layer[1].act").grad_second.is_known());
  CHECK_FALSE(parameter(trace, "layer[0].linear.weight").grad_second.is_known());
  const auto says = [](const Premise& premise) {
    return premise.text.find("hardshrink jumps") != std::string::npos;
  };
  CHECK(std::any_of(trace.assumptions.begin(), trace.assumptions.end(), says));
}
