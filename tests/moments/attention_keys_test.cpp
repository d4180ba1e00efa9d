#include "moments/attention_keys.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "moments/positions.hpp"
#include "smooth_state.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

KeyCounts<double> masked(double tokens) {
  return {tokens, tokens, true, false};
}

}  // namespace

TEST_CASE("means over the keys of a mask, by counting") {
  const PerPosition x = smooth(6, true);
  const KeyMeans<PerPosition> means = key_means(x, x, masked(6));
  for (int t = 0; t < 6; ++t) {
    for (int u = 0; u < 6; ++u) {
      double same = 0, other = 0;
      for (int s = 0; s <= t; ++s)
        for (int r = 0; r <= u; ++r)
          (s == r ? same : other) += s == r ? x.second[s] : x.cross(s, r);
      const int common = std::min(t, u) + 1, pairs = (t + 1) * (u + 1) - common;
      CHECK(means.same.cross(t, u) == doctest::Approx(same / common));
      if (pairs > 0) CHECK(means.other.cross(t, u) == doctest::Approx(other / pairs));
    }
    CHECK(means.same.second[t] == means.same.cross(t, t));
    CHECK(means.other.second[t] == means.other.cross(t, t));
  }
  CHECK(means.other.second[0] == means.same.second[0]);
}

TEST_CASE("from queries back to the keys of a mask, by counting") {
  const PerPosition same = smooth(5, true), other = scaled(same, -0.5);
  const PerPosition keys = to_keys(same, other, same, masked(5));
  for (int s = 0; s < 5; ++s) {
    for (int r = 0; r < 5; ++r) {
      double sum = 0;
      for (int t = s; t < 5; ++t) {
        for (int u = r; u < 5; ++u) {
          const double common = std::min(t, u) + 1, pairs = (t + 1) * (u + 1) - common;
          const PerPosition& from = s == r ? same : other;
          const double weight = s == r ? common : pairs;
          if (weight > 0) sum += (t == u ? from.second[t] : from.cross(t, u)) / weight;
        }
      }
      if (s == r) CHECK(keys.second[s] == doctest::Approx(sum));
      if (s != r) CHECK(keys.cross(s, r) == doctest::Approx(sum));
    }
  }
}

// Means over keys, and what comes back to keys, are interpolated in n^(-1/2) over steps h of the
// position: chords are h^2/16 off (docs/theory/attention.md#positions), of derivatives up to 2
// twice that.
TEST_CASE("a grid of positions gives what all of them do") {
  const double allowed = Spacing::wide * Spacing::wide / 8;
  for (const std::int64_t tokens : {65, 300}) {
    const PerPosition grid = smooth(tokens, false), all = smooth(tokens, true);
    const auto counts = masked(static_cast<double>(tokens));
    const Alike<double> means = average(key_means(grid, grid, counts).other);
    const Alike<double> exact = average(key_means(all, all, counts).other);
    CHECK(means.second == doctest::Approx(exact.second).epsilon(allowed));
    CHECK(means.cross == doctest::Approx(exact.cross).epsilon(allowed));
    const Alike<double> back = average(to_keys(grid, scaled(grid, -1.0), grid, counts));
    const Alike<double> all_back = average(to_keys(all, scaled(all, -1.0), all, counts));
    CHECK(back.second == doctest::Approx(all_back.second).epsilon(allowed));
    CHECK(back.cross == doctest::Approx(all_back.cross).epsilon(2 * allowed));
  }
}

TEST_CASE("between sequences all pairs of keys weigh the same") {
  const PerPosition x = smooth(4, true);
  const Eigen::ArrayXXd mean = between_means(x, x, masked(4));
  CHECK(mean.isApproxToConstant(0.25));
  // All of it comes back: the sum over pairs of tokens stays.
  const Eigen::ArrayXXd back = between_to_keys(x, x, masked(4));
  CHECK(back.sum() == doctest::Approx(x.between.sum()));
}

TEST_CASE("without a mask every key is like another") {
  const Alike<double> x{0, 2, 0.5, 0.1};
  const KeyCounts<double> counts{6, 3, false, false};
  const Alike<double> keys = to_keys(x, Alike<double>{0, 3, 0.7, 0}, x, counts);
  CHECK(keys.second == doctest::Approx(2 * (2 + 5 * 0.5)));
  CHECK(keys.cross == doctest::Approx(2 * (3 + 5 * 0.7) / 2));
  CHECK(between_to_keys(x, x, counts) == doctest::Approx(0.4));
  const PerPosition rows = spread_over(x, make_positions(6, true), 1);
  CHECK(to_keys(rows, rows, rows, counts).second[3] == doctest::Approx(keys.second));
}

// Three tokens of squares 4, 1 and 1, independent: about their mean the Gram matrix is
// (I - 1/3) diag(4, 1, 1) (I - 1/3), with the trace 2 D = 4.
TEST_CASE("structure of keys of unequal size, and of keys that a norm has made one size") {
  PerPosition tokens = spread_over({0, 1, 0, 0}, make_positions(3, true), 1);
  tokens.second << 4, 1, 1;
  Eigen::Matrix3d gram = Eigen::Vector3d(4, 1, 1).asDiagonal();
  const Eigen::Matrix3d centre = Eigen::Matrix3d::Identity() - Eigen::Matrix3d::Constant(1.0 / 3);
  gram = centre * gram * centre;
  const Eigen::Matrix3d even = 2 * centre, beyond = gram - even;
  const double keys = beyond.diagonal().squaredNorm() / (3 * 4),
               pairs = (beyond.squaredNorm() - beyond.diagonal().squaredNorm()) / (6 * 4);
  const KeyStructure own = key_structure(tokens, tokens, 2);
  CHECK(own.keys == doctest::Approx(keys));
  CHECK(own.pairs == doctest::Approx(pairs));
  const PerPosition normed = spread_over({0, 1, 0, 0}, make_positions(3, true), 1);
  const KeyStructure mixed = key_structure(tokens, normed, 2);
  CHECK(std::fabs(mixed.keys) < rounding(64));
  CHECK(std::fabs(mixed.pairs) < rounding(64));
  // Sizes of normed keys leave nothing out; of the others one has more than the mean.
  const Eigen::ArrayXd tau2 = Eigen::ArrayXd::Constant(3, 0.5);
  const std::vector<double> p2(3, 0.4);
  CHECK(omitted_sizes(tokens, tau2, p2, false).row > 0);
  CHECK(omitted_sizes(normed, tau2, p2, false).row == 0);
}
