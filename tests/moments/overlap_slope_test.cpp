#include "moments/overlap_slope.hpp"

#include <cmath>

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

constexpr OverlapDeviation input{0.2, 0.01, 1};

}  // namespace

TEST_CASE("a linear map moves overlaps forward and gradients back") {
  const OverlapSlopes slopes = through_map({{2, 3}, {4, 5}}, 1.5, 0.5);
  CHECK(slopes.within.own == doctest::Approx(2 * 1.5 * 0.5));
  CHECK(slopes.within.stream == doctest::Approx(3 * 0.5));
  CHECK(slopes.between.own == doctest::Approx(4 * 1.5 * 0.5));
  CHECK(slopes.between.stream == doctest::Approx(5 * 0.5));
}

TEST_CASE("a part of the gradient along x has the slope of its share") {
  const OverlapSlopes slopes = with_part_along({}, 0.3, {0.2, 0.01, 2});
  CHECK(slopes.within.own == 0.3);
  CHECK(slopes.within.stream == doctest::Approx(0.3 * 0.2));
  CHECK(slopes.between.stream == doctest::Approx(0.3 * 0.2 * 2));
}

// Mixes over keys of their own go together by their tokens' own values alone.
TEST_CASE("overlaps of two sequences have their own share of what is coherent") {
  const OverlapSlopes slopes{{0, 3}, {0, 5}};
  const Counts counts{4, 2};
  const double within = 2 * 4 * 3 * 3 * 0.2, between = 2 * 4 * 4 * 5 * 0.2 * 7;
  OverlapDeviation mix{0.2, 0.01, 7};
  CHECK(overlap_covariance(slopes, mix, 1, counts) == rounded(within + between, 16));
  mix.of_two = 0.25;
  CHECK(overlap_covariance(slopes, mix, 1, counts) == rounded(within + between / 4, 16));
  CHECK(with_part_along({}, 0.3, mix).between.stream == rounded(0.3 * 0.2 * 7 / 4, 8));
}

// Sequences of 8 features: in 64 of a layer behind them x_t.x_u of two of them still has D^2/8.
TEST_CASE("overlaps of two sequences are those of the fewest features") {
  const Numbers numbers = calculus();
  Signal<Alike<double>> x;
  x.width = 64;
  x.x = {0, 1, 0.9, 0};
  const double within = 0.1 * 0.1 / 8;  // D^2/n
  x.overlap = {std::sqrt(within), 0};
  CHECK(overlap_deviation(numbers, x).apart == rounded(std::sqrt(1 / (64 * within)), 16));
  x.narrowest = 8;
  CHECK(overlap_deviation(numbers, x).apart == rounded(10, 64));
}

// k = k'(r'(r)) D(r) with D = dr'/dr: dk/dr = dk'/dr' D^2 + k' dD/dr. For relu D = (pi - theta)/(2
// pi) and dD/dc = 1/(2 pi sin theta); the secant over the deviation s of c is off by s^2/6 of the
// third derivative, (1 + 2 c^2)/(2 pi sin^5 theta).
TEST_CASE("an activation's slope is that of its kernel") {
  Numbers numbers = calculus();
  const auto relu = numbers.function("relu");
  const double c = 0.3, sine = std::sqrt(1 - c * c), theta = std::acos(c);
  for (const double s : {0.01, 0.1}) {
    const SlopeKernel kernel = slope_kernel(numbers, relu, {0, 1, c, c}, {s, 0, 1}, {4, 2});
    const double rise = 1 / (2 * M_PI * sine);
    const double bend = (1 + 2 * c * c) / (2 * M_PI * std::pow(sine, 5));
    CHECK(kernel.within.value == doctest::Approx((M_PI - theta) / (2 * M_PI)).epsilon(1e-9));
    CHECK(std::fabs(kernel.within.rise - rise) < s * s / 5 * bend + 1e-9);
    CHECK(kernel.between.rise == doctest::Approx(kernel.within.rise));
    const OverlapSlopes below =
        slopes_below({{2, 0}, {0, 0}}, 0, {0, 1, 0.5, 0}, {{s, 0, 1}, {}, kernel, {}, {}}).slopes;
    const double d = kernel.within.value;
    CHECK(below.within.own == doctest::Approx(2 * d * d + 0.5 * kernel.within.rise));
    CHECK(below.within.stream == doctest::Approx(0.5 * kernel.within.rise * s));
  }
}

// Of phi = u^2 F = phi phi' = 2 u^3 has E F(u)F(v) = 36 c + 24 c^3, whose slope at c = 0 is the
// square of E u F: what a norm below takes as a part along u. That of a phi(u) beside a random part
// of overlap k' and slope s' is a^2 as steep, and the latter's goes by D = 4 c, D' = 4.
TEST_CASE("a gradient along the output has slopes of its own") {
  Numbers numbers = calculus();
  const auto square = numbers.function("square");
  const double along = 0.7, random = 0.2, steep = 1.1;
  for (const double c : {0.0, 0.3, -0.4}) {
    ActivationOverlaps phi{{0.01, 0, 1}, {}, {}, {}, {0, 3, 1 + 2 * c * c, 1 + 2 * c * c}};
    note_kernels(numbers, square, {0, 1, c, c}, {4, 2}, phi);
    const double k = random + along * phi.product.cross;
    const auto below =
        slopes_below({{steep + along, 0}, {steep + along, 0}}, along, {0, 1, k, k}, phi);
    // The secant over 0.01 is off by 1e-4/6 of the third derivative, 144.
    const double expected = steep * 16 * c * c + random * 4 + along * (36 + 72 * c * c);
    CHECK(std::fabs(below.slopes.within.own - expected) < along * 24e-4 + 1e-6);
    CHECK(below.slopes.between.own == doctest::Approx(below.slopes.within.own));
  }
}

TEST_CASE("one token and one sequence have no pairs to find a kernel of") {
  Numbers numbers = calculus();
  const SlopeKernel kernel =
      slope_kernel(numbers, numbers.function("tanh"), {0, 1, 0.5, 0}, {0.1, 0, 1}, {1, 1});
  CHECK(kernel.within.value == 0);
  CHECK(kernel.between.value == 0);
}

TEST_CASE("a covariance is the slope times the variance, over all pairs") {
  // Of T = 3 tokens: 6 pairs a sequence, and 2 x 9 of two sequences.
  const double within = 2 * 1.5 * 0.01 + 3 * 0.2;
  CHECK(overlap_covariance({{2, 3}, {}}, input, 1.5, {3, 1}) == doctest::Approx(6 * within));
  CHECK(overlap_covariance({{}, {2, 3}}, input, 1.5, {3, 2}) == doctest::Approx(18 * within));
}

TEST_CASE("overlaps of two sequences fluctuate by their own D, and by no more than D^2/n") {
  Numbers numbers = calculus();
  auto x = signal(1, 0.5, 64);
  CHECK(overlap_deviation(numbers, x).apart == doctest::Approx(2));
  // Tokens that have all but become one: D = 1e-6 within a sequence.
  x = signal(1, 1 - 1e-6, 64);
  x.overlap = {1e-3, 0};
  CHECK(overlap_deviation(numbers, x).apart * 1e-3 == doctest::Approx(1 / 8.0));
}
