#include <doctest/doctest.h>

#include <complex>
#include <limits>

#include "support.hpp"
#include "tensor/ops.hpp"
#include "tolerance.hpp"

namespace scalecalc::tensor {
namespace {

using namespace testing;

template <class Real>
Moments measured(const SequenceShape& s, const Vector& x, int threads = 1) {
  const auto device = make_device<Real>("cpu", threads);
  return device->moments(s, upload(device, s.sequences * s.tokens, s.width, x).data());
}

/// All pairs, one by one.
Moments by_loops(const SequenceShape& s, const Vector& x) {
  const auto at = [&](std::int64_t sequence, std::int64_t token, std::int64_t i) {
    return x[static_cast<std::size_t>((sequence * s.tokens + token) * s.width + i)];
  };
  Moments sums{0.0, 0.0, 0.0};
  for (std::int64_t b = 0; b < s.sequences; ++b) {
    for (std::int64_t i = 0; i < s.width; ++i) {
      for (std::int64_t t = 0; t < s.tokens; ++t) {
        sums.mean += at(b, t, i);
        sums.second += at(b, t, i) * at(b, t, i);
        for (std::int64_t u = 0; u < s.tokens; ++u) {
          if (u != t) sums.cross += at(b, t, i) * at(b, u, i);
        }
      }
    }
  }
  const auto entries = static_cast<double>(s.sequences * s.tokens * s.width);
  const double pairs = entries * static_cast<double>(s.tokens - 1);
  return {sums.mean / entries, sums.second / entries, sums.cross / pairs};
}

/// Angles of the pairs, and what turned features are multiplied by.
struct Turned {
  RotaryShape shape;
  std::vector<double> theta;
  double size = 1.0;
};
Turned by_base(const RotaryShape& shape, double base) {
  Turned made{shape, {}};
  for (std::int64_t i = 0; 2 * i < shape.width; ++i)
    made.theta.push_back(std::exp(-2.0 * static_cast<double>(i) / static_cast<double>(shape.width) *
                                  std::log(base)));
  return made;
}

OperationRun rotary_run(const Turned& of, Input x, int threads = 1) {
  return {[of](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return rotate(tape, of.shape, rotary_turns(tape, of.shape.tokens, of.theta, of.size),
                          in[0]);
          },
          {std::move(x)},
          threads};
}

/// One head of one token, as complex numbers.
void turn_by_loops(const Turned& of, std::int64_t position, double* x) {
  const std::size_t half = of.theta.size();
  for (std::size_t i = 0; i < half; ++i) {
    const std::complex<double> turned =
        std::complex<double>(x[i], x[i + half]) *
        std::polar(of.size, static_cast<double>(position) * of.theta[i]);
    x[i] = turned.real();
    x[i + half] = turned.imag();
  }
}

OperationRun pool_run(std::int64_t tokens, Input x, int threads = 1) {
  return {[tokens](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return pool(tape, tokens, in[0]);
          },
          {std::move(x)},
          threads};
}

}  // namespace

TEST_CASE("moments: means, squares and crosses against all pairs") {
  for (const SequenceShape& s : {SequenceShape{1, 2, 1}, SequenceShape{3, 5, 7},
                                 SequenceShape{2, 9, 600}, SequenceShape{1, 40, 256}}) {
    Vector x = normal_values(static_cast<std::size_t>(s.sequences * s.tokens * s.width), 1);
    for (double& entry : x) entry += 0.5;
    const Moments expected = by_loops(s, x), got = measured<double>(s, x);
    // Up to 10800 terms of order 1 are added; the cross is a difference of two sums of T terms.
    const double rounding = 1e4 * std::numeric_limits<double>::epsilon();
    CHECK(std::fabs(got.mean - expected.mean) < rounding);
    CHECK(std::fabs(got.second - expected.second) < rounding);
    CHECK(std::fabs(got.cross - expected.cross) < rounding);
  }
}

TEST_CASE("moments: float values are added in double") {
  const SequenceShape s{2, 50, 300};
  const Vector x = normal_values(30000, 2);
  Vector rounded;
  for (const double entry : x) rounded.push_back(static_cast<float>(entry));
  const Moments a = measured<float>(s, x), b = measured<double>(s, rounded);
  CHECK(a.mean == b.mean);
  CHECK(a.second == b.second);
  CHECK(a.cross == b.cross);
}

TEST_CASE("moments: one token has no cross, equal tokens have the second moment as cross") {
  CHECK(std::isnan(measured<double>({2, 1, 3}, normal_values(6, 1)).cross));
  Vector x = normal_values(40, 3);
  for (std::size_t i = 0; i < 40; ++i) x[i] = x[i % 10];
  const Moments same = measured<double>({1, 4, 10}, x);
  CHECK(same.cross == rounded(same.second, 64));
}

TEST_CASE("pool: means of each sequence, and their gradients") {
  const Input x = random_input(6, 5, 1);
  const Vector y = pool_run(3, x).value();
  for (std::size_t i = 0; i < 10; ++i) {
    const std::size_t first = i / 5 * 15 + i % 5;
    const double sum = x.values[first] + x.values[first + 5] + x.values[first + 10];
    CHECK(y[i] == rounded(sum / 3.0, 64));
  }
  CHECK(pool_run(3, x).worst_gradient_error() < kDifferences);
  CHECK(pool_run(1, x).value() == x.values);
}

TEST_CASE("prepend, take: rows of each sequence, and their gradients") {
  const Input front = random_input(2, 3, 1), x = random_input(6, 3, 2);
  const OperationRun run(
      [](Tape<double>& tape, const std::vector<Variable<double>>& in) {
        return prepend(tape, 3, in[0], in[1]);
      },
      {front, x}, 1);
  Vector expected;
  for (const std::ptrdiff_t sequence : {0, 1}) {
    expected.insert(expected.end(), front.values.begin(), front.values.end());
    const auto own = x.values.begin() + 9 * sequence;
    expected.insert(expected.end(), own, own + 9);
  }
  CHECK(run.value() == expected);
  CHECK(run.worst_gradient_error() < kDifferences);
  const OperationRun taken(
      [](Tape<double>& tape, const std::vector<Variable<double>>& in) {
        return take(tape, 3, 1, 2, in[0]);
      },
      {x}, 1);
  Vector rest = x.values;
  rest.erase(rest.begin() + 9, rest.begin() + 12);
  rest.erase(rest.begin(), rest.begin() + 3);
  CHECK(taken.value() == rest);
  CHECK(taken.worst_gradient_error() < kDifferences);
}

TEST_CASE("rotary: pairs of features turn by position, others stay") {
  for (const Turned& of :
       {by_base({1, 1, 1, 2, 2}, 10.0), by_base({2, 5, 3, 6, 4}, 100.0),
        by_base({1, 9, 2, 7, 6}, 10000.0), Turned{{1, 5, 2, 6, 4}, {0.5, 0.0}, 1.25}}) {
    const RotaryShape& s = of.shape;
    CAPTURE(s.width);
    const Input x = random_input(s.sequences * s.tokens, s.heads * s.head_width, 4);
    Vector expected = x.values;
    for (std::int64_t row = 0; row < s.sequences * s.tokens; ++row)
      for (std::int64_t head = 0; head < s.heads; ++head)
        turn_by_loops(of, row % s.tokens,
                      &expected[static_cast<std::size_t>((row * s.heads + head) * s.head_width)]);
    const OperationRun run = rotary_run(of, x);
    const Vector y = run.value();
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == rounded(expected[i], 64));
    CHECK(run.worst_gradient_error() < kDifferences);
    CHECK(rotary_run(of, x, 2).value() == y);
  }
}

TEST_CASE("rotary: scores depend on the distance of their tokens alone") {
  const Turned s = by_base({1, 40, 1, 8, 8}, 10000.0);
  const Vector one = normal_values(16, 5);
  Vector q, k;
  for (int t = 0; t < 40; ++t) {
    q.insert(q.end(), one.begin(), one.begin() + 8);
    k.insert(k.end(), one.begin() + 8, one.end());
  }
  const Vector a = rotary_run(s, {40, 8, q}).value(), b = rotary_run(s, {40, 8, k}).value();
  const auto score = [&](std::size_t t, std::size_t u) {
    double sum = 0.0;
    for (std::size_t i = 0; i < 8; ++i) sum += a[8 * t + i] * b[8 * u + i];
    return sum;
  };
  // Sums of 8 products of order 1, whose angles are rounded at 39.
  const double rounding = 8 * 40 * 16 * std::numeric_limits<double>::epsilon();
  for (std::size_t n = 0; n < 20; ++n)
    for (std::size_t t = n; t < 40; ++t) CHECK(std::fabs(score(t, t - n) - score(n, 0)) < rounding);
}

TEST_CASE("positions: one table for all sequences") {
  const OperationRun run(
      [](Tape<double>& tape, const std::vector<Variable<double>>& in) {
        return add_positions(tape, in[0], in[1]);
      },
      {random_input(6, 5, 1), random_input(3, 5, 2)});
  CHECK(run.worst_gradient_error() < kDifferences);
  const Vector x = random_input(6, 5, 1).values, table = random_input(3, 5, 2).values;
  const Vector y = run.value();
  for (std::size_t i = 0; i < 30; ++i) CHECK(y[i] == x[i] + table[i % 15]);
}

TEST_CASE("sequences: the number of threads does not change a bit") {
  const SequenceShape s{3, 20, 700};
  const Vector x = normal_values(42000, 2);
  const Moments a = measured<double>(s, x, 1), b = measured<double>(s, x, 2);
  CHECK(a.mean == b.mean);
  CHECK(a.second == b.second);
  CHECK(a.cross == b.cross);
  CHECK(pool_run(20, {60, 700, x}, 1).value() == pool_run(20, {60, 700, x}, 2).value());
}

}  // namespace scalecalc::tensor
