#include "moments/attention_softmax.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace scalecalc;
using namespace scalecalc::moments;

TEST_CASE("a line asked for again and again is interpolated") {
  SoftmaxLines lines;
  const ScoreLine line{24, 1.3, 0, 1};
  bool interpolated = false;
  for (int layer = 0; layer < 40; ++layer) {
    const double c = 0.1 + 0.02 * layer;
    const SoftmaxAverages found = lines(line, c);
    const SoftmaxAverages exact = softmax_averages(24, line.tau2(c), c);
    interpolated |= found.two.overlap != exact.two.overlap;
    CHECK(std::abs(found.two.overlap / exact.two.overlap - 1) <= found.two.error + exact.two.error);
    CHECK(std::abs(found.one.p2 / exact.one.p2 - 1) <= found.two.error + exact.two.error);
    CHECK(found.two.error < 1e-6);  // what a sheet states: its cube of 0.02 over 16
  }
  CHECK(interpolated);
}

// The parabola leaves out a sixteenth of the cube of its width.
TEST_CASE("lines that an eps sets apart share their curves") {
  for (const double base : {0.0, 1.0}) {
    SoftmaxLines lines;
    for (int layer = 0; layer < 40; ++layer) {
      const ScoreLine line{32, 2.0 * std::exp(0.0009 * (layer - 20)), base, 1 - base};
      const double c = 0.05 + 0.02 * layer;
      const SoftmaxAverages found = lines(line, c);
      const SoftmaxAverages exact = softmax_averages(32, line.tau2(c), c);
      CHECK(std::abs(found.two.a_prime / exact.two.a_prime - 1) <=
            found.two.error + exact.two.error);
      CHECK(std::abs(found.one.a / exact.one.a - 1) <= found.two.error + exact.two.error);
    }
  }
}

TEST_CASE("other lines are integrated") {
  SoftmaxLines lines;
  for (int layer = 0; layer < 5; ++layer) {
    const double c = -0.02;
    const ScoreLine line{32, 1.0, 0, 1};
    CHECK(lines(line, c).two.overlap == softmax_averages(32, line.tau2(c), c).two.overlap);
    const ScoreLine flat{7, 0.0, 0, 1};
    CHECK(lines(flat, 0.4).one.p2 == doctest::Approx(1.0 / 7));
  }
  for (int layer = 0; layer < 200; ++layer) {
    const ScoreLine line{5, std::exp(0.1 * (layer % 100) - 8), 0, 1};
    // The stated error of a sheet.
    CHECK(lines(line, 0.5).one.p2 ==
          doctest::Approx(softmax_averages(5, line.tau2(0.5), 0.5).one.p2).epsilon(1e-6));
  }
}

// Tokens that are equal, up to rounding of what they differ by.
TEST_CASE("even rows are integrated, whichever were before") {
  SoftmaxLines lines;
  for (const std::int64_t rows : {24, 24, 9, 24})
    for (const double c : {1.0, 1.0, 0.5}) {
      const ScoreLine line{rows, 3e-16, 1, 0};
      const SoftmaxAverages found = lines(line, c), exact = softmax_averages(rows, line.tau2(c), c);
      CHECK(found.one.p2 == exact.one.p2);
      CHECK(found.two.overlap == exact.two.overlap);
      CHECK(found.two.a_prime == exact.two.a_prime);
    }
}

// The next term of the lognormal form is of the order of e^{4 tau2}/T.
TEST_CASE("the lognormal form, when asked for") {
  PropagateOptions options;
  options.lognormal_softmax = true;
  Numbers approximate{options}, exact{PropagateOptions{}};
  const ScoreLine line{100000, 0.2, 0, 1};
  const SoftmaxAverages a = approximate.softmax_averages(line, 0.5);
  const SoftmaxAverages b = exact.softmax_averages(line, 0.5);
  CHECK(a.one.p2 == softmax_p2_lognormal(100000, 0.1));
  // The next term of the lognormal form is e^(4 tau2)/T, each slope four times as much.
  CHECK(a.one.p2 == doctest::Approx(b.one.p2).epsilon(1e-4));
  CHECK(a.two.overlap == doctest::Approx(b.two.overlap).epsilon(1e-4));
  CHECK(a.two.a_second == doctest::Approx(b.two.a_second).epsilon(1e-3));
  RowScores scores{{1, 2}, Eigen::ArrayXd::Constant(2, 0.1), Eigen::ArrayXXd::Constant(2, 2, 0.5)};
  CHECK(softmax_values(approximate, scores).pair(1, 0).overlap ==
        softmax_overlap_lognormal(2, 0.1, 0.5));
}
