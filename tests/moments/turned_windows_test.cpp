#include "moments/turned_windows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "moments/positions.hpp"
#include "smooth_state.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;

namespace {

const std::vector<KeyTurn> turns = {{0.9, 0.4}, {0.04, 0.35}, {0, 0.25}};

MatrixXd whole(const PerPosition& x) {
  MatrixXd all = x.cross.matrix();
  all.diagonal() = x.second.matrix();
  return all;
}

/// tr J_t V J_u K of one window, turned, with every token and J_t written out.
ArrayXXd counted(const PerPosition& values, const PerPosition& keys, std::int64_t window) {
  const MatrixXd v = whole(values), k = whole(keys);
  const Index tokens = v.rows();
  const auto slope = [&](Index t) {
    Eigen::VectorXd weight = Eigen::VectorXd::Zero(tokens);
    const Index seen = std::min<Index>(t + 1, window);
    weight.segment(t + 1 - seen, seen).setConstant(1 / static_cast<double>(seen));
    return MatrixXd(MatrixXd(weight.asDiagonal()) - weight * weight.transpose());
  };
  ArrayXXd sums(tokens, tokens);
  for (Index t = 0; t < tokens; ++t)
    for (Index u = 0; u < tokens; ++u) {
      const MatrixXd pairs = slope(t) * v * slope(u);
      double sum = 0;
      for (Index s = 0; s < tokens; ++s)
        for (Index r = 0; r < tokens; ++r)
          for (const auto& [theta, share] : turns)
            sum += share * pairs(s, r) * k(s, r) *
                   std::cos(theta * static_cast<double>(t - s - u + r));
      sums(t, u) = sum;
    }
  return sums;
}

}  // namespace

TEST_CASE("what comes back through the scores of windows whose keys turn, by counting") {
  constexpr Index tokens = 11;
  const PerPosition values = smooth(tokens), keys = scaled(smooth(tokens), 0.5);
  // Of a few roundings of each of the pairs of keys, which are of order 1.
  constexpr double rounding = 8 * tokens * tokens * std::numeric_limits<double>::epsilon();
  for (const std::int64_t window : {1, 2, 5, 11, 30}) {
    CAPTURE(window);
    const TurnedWindows made(window, values.positions, turns);
    const ArrayXXd found = made.through(values, keys), all = counted(values, keys, window);
    CHECK((found - all).abs().maxCoeff() <= rounding);
  }
}

// Interpolated between neighbours a share h of their position apart: e^-|s - u| bends where s = u,
// and is off by h/4 half-way between two positions there, h/8 on average.
TEST_CASE("positions that stand apart give the windows' sums that all of them give") {
  constexpr std::int64_t tokens = 300;
  constexpr double apart = Spacing::narrow / 8;
  const PerPosition all = smooth(tokens);
  PerPosition few = all;
  few.positions = make_positions(tokens, false, false, Spacing::narrow);
  const Eigen::ArrayXi at = few.positions->at;
  few.second = all.second(at);
  few.cross = all.cross(at, at);
  for (const std::int64_t window : {3, 40, 250}) {
    CAPTURE(window);
    const ArrayXXd exact = TurnedWindows(window, all.positions, turns).through(all, all),
                   found = TurnedWindows(window, few.positions, turns).through(few, few);
    const ArrayXXd there = exact(at, at);
    const double largest = there.abs().maxCoeff();
    CHECK((found - there).abs().maxCoeff() <= apart * largest);
  }
}
