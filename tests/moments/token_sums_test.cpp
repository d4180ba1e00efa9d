#include "moments/token_sums.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

#include "moments/falling_weights.hpp"
#include "moments/key_bias.hpp"
#include "moments/positions.hpp"
#include "moments/window_weights.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;

namespace {

/// Of sums over so many tokens, each of a few roundings.
double rounding(Index tokens) {
  return 8 * static_cast<double>(tokens) * std::numeric_limits<double>::epsilon();
}

struct Dense {
  MatrixXd rows, columns;
  Dense(const KeyBias& bias, const Positions& positions)
      : rows(positions.at.size(), positions.tokens),
        columns(positions.tokens, positions.at.size()) {
    const BiasedWeight weight(bias, positions.tokens);
    for (Index j = 0; j < positions.at.size(); ++j)
      for (Index s = 0; s < positions.tokens; ++s) {
        rows(j, s) = weight(positions.at[j], s);
        columns(s, j) = weight(s, positions.at[j]);
      }
  }
};

MatrixXd waves(Index rows, Index columns) {
  return MatrixXd::NullaryExpr(rows, columns, [](Index a, Index b) {
    return 1.5 + std::sin(0.37 * static_cast<double>(a) + 0.011 * static_cast<double>(b));
  });
}

void check_sums(const TokenSums& made, const KeyBias& bias, const Positions& positions) {
  const std::int64_t tokens = positions.tokens;
  const double most = rounding(tokens);
  const Dense dense(bias, positions);
  for (Index j = 0; j < positions.at.size(); ++j)
    CHECK(std::fabs(dense.rows.row(j).sum() - 1) <= most);
  const MatrixXd left = waves(5, tokens), right = waves(tokens, 3);
  const ArrayXd f = left.row(2).transpose().array();
  const auto diagonal = f.matrix().asDiagonal();
  CHECK(made.with_rows(left).isApprox(left * dense.rows.transpose(), most));
  CHECK(made.selves_of_rows(f).isApprox(dense.rows * diagonal * dense.rows.transpose(), most));
  CHECK(made.with_columns(right).isApprox(dense.columns.transpose() * right, most));
  const MatrixXd selves = dense.columns.transpose() * diagonal * dense.columns;
  CHECK(made.selves_of_columns(f).isApprox(selves, most));
  CHECK(made.squares_of_columns(f).matrix().isApprox(selves.diagonal(), most));
}

}  // namespace

// Slopes from those that leave a mask to those that leave one key; positions one by one and apart.
TEST_CASE("sums over falling weights from position to position are those over all tokens") {
  for (const std::int64_t tokens : {1, 2, 9, 300}) {
    const auto positions = make_positions(tokens, false);
    for (const double slope : {1e-6, 0.004, 0.3, 0.84, 20.0}) {
      CAPTURE(tokens);
      CAPTURE(slope);
      check_sums(FallingWeights(slope, *positions), {slope, 0}, *positions);
    }
  }
}

// From one key to more than there are.
TEST_CASE("sums over the keys of windows are those over all tokens") {
  for (const std::int64_t tokens : {1, 2, 9, 300}) {
    const auto positions = make_positions(tokens, false);
    for (const std::int64_t window : {1, 2, 7, 64, 299, 300, 512}) {
      CAPTURE(tokens);
      CAPTURE(window);
      check_sums(WindowWeights(window, *positions), {0, window}, *positions);
    }
  }
}
