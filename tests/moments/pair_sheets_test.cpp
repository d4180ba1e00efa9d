#include "moments/pair_sheets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace scalecalc;
using namespace scalecalc::moments;

namespace {

/// Of a stack at this depth: variances fall and correlations rise as those of a pre-norm stack do,
/// by about 1/layer.
RowScores scores_at(double layer, double tau2) {
  RowScores scores;
  constexpr Eigen::Index rows = 9;
  scores.tau2.resize(rows);
  scores.c.resize(rows, rows);
  for (Eigen::Index t = 0; t < rows; ++t) {
    const double at = static_cast<double>(t);
    scores.keys.push_back(1 + at * at);
    scores.tau2[t] = tau2 * (1 + 1 / layer) * (0.9 + 0.02 * at);
    for (Eigen::Index u = 0; u < rows; ++u)
      scores.c(t, u) = 0.6 - 0.3 / layer - 0.02 * std::fabs(at - static_cast<double>(u));
  }
  return scores;
}

SoftmaxRows exact_rows(const RowScores& scores) {
  std::vector<SoftmaxRows::Row> rows;
  for (std::size_t t = 0; t < scores.keys.size(); ++t)
    rows.push_back({scores.keys[t], scores.tau2[static_cast<Eigen::Index>(t)]});
  return SoftmaxRows(rows);
}

}  // namespace

TEST_CASE("rows of deep stacks are read off polynomials, to what these state") {
  for (const double tau2 : {0.0, 0.002, 0.02, 0.2}) {
    CAPTURE(tau2);
    PairSheets sheets;
    int read = 0;
    for (int layer = 1; layer <= 400; ++layer) {
      CAPTURE(layer);
      const RowScores scores = scores_at(layer, tau2);
      const auto found = sheets(scores, 1);
      if (!found) continue;
      ++read;
      if (layer % 40 != 0) continue;
      const SoftmaxRows exact = exact_rows(scores);
      for (std::size_t t = 0; t < scores.keys.size(); ++t) {
        const SoftmaxOrders one = exact.orders(t);
        CHECK(std::abs(found->one[t].p2 - one.p2) <= found->one[t].error + one.error);
        CHECK(std::abs(found->one[t].a - one.a) <= found->one[t].error + one.error);
        for (std::size_t u = 0; u <= t; ++u) {
          const Eigen::Index i = static_cast<Eigen::Index>(t), j = static_cast<Eigen::Index>(u);
          const SoftmaxOverlaps two = exact.overlaps(t, u, scores.c(i, j)), at = found->pair(i, j);
          CHECK(at.error <= 1e-6);  // what a sheet is held to at its corners
          CHECK(std::abs(at.overlap - two.overlap) <= (at.error + two.error) * two.overlap);
          CHECK(std::abs(at.a_prime - two.a_prime) <= (at.error + two.error) * two.overlap);
          // Derivatives and squares to 1e-4, which the sheet is held to at its corners.
          CHECK(std::abs(at.a_second - two.a_second) <= 1e-4 * std::abs(two.a_prime));
          CHECK(std::abs(at.a_third - two.a_third) <= 1e-4 * std::abs(two.a_prime));
          CHECK(std::abs(at.square - two.square) <= 1e-4 * two.square);
        }
      }
    }
    CHECK(read > 300);  // of 400: movement by 1/layer has become slow before
  }
}

TEST_CASE("rows that move fast, and rows of other keys, are not") {
  PairSheets sheets;
  for (int layer = 1; layer <= 40; ++layer) {
    CHECK_FALSE(sheets(scores_at(layer % 2 == 0 ? 1 : 3, 0.02), 1));
    RowScores others = scores_at(layer, 0.02);
    for (double& keys : others.keys) keys += layer;
    CHECK_FALSE(sheets(others, 1));
  }
}

// A sheet costs as much as a dozen layers.
TEST_CASE("the last layers of a stack get no sheet") {
  const auto reads = [](int layers) {
    PairSheets sheets;
    sheets.expect(layers);
    int read = 0;
    for (int layer = 0; layer < layers; ++layer)
      read += sheets(scores_at(100 + layer, 0.02), 1) ? 1 : 0;
    return read;
  };
  CHECK(reads(24) == 0);
  CHECK(reads(60) > 30);
}

TEST_CASE("sheets are the same on any number of threads") {
  PairSheets one, two;
  for (int layer = 100; layer < 110; ++layer) {
    const auto a = one(scores_at(layer, 0.02), 1), b = two(scores_at(layer, 0.02), 2);
    REQUIRE(a.has_value() == b.has_value());
    if (!a) continue;
    for (std::size_t k = 0; k < a->two.size(); ++k) CHECK(a->two[k].overlap == b->two[k].overlap);
  }
}
