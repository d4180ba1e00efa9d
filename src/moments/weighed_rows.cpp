#include "moments/weighed_rows.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {
namespace {

using Eigen::Index;

/// First orders in tau2 end where a row has condensed to one key, each row by its own.
double damped(double tau2) {
  return tau2 / (1 + tau2);
}

/// What multiplies A past equal keys, whose A is P2 - P2^2 at first and grows as 1 - 4 P2.
struct SlopeOfRow {
  double level = 1, growth = 0;  ///< growth: of ln A
};
SlopeOfRow slope_of_row(const KeyWeights& weights, Index t, double tau2) {
  const double p2 = weights.overlap()(t, t), equal = p2 - p2 * p2;
  const double own = weights.slopes_overlap()(t, t);
  if (!(equal > 0) || !(own > 0)) return {};
  const double growth = weights.slope_growth()[t] / own - (1 - 4 * p2);
  return {own / equal, damped(tau2) * std::clamp(growth, -2.0, 2.0)};
}

void weigh_row(const KeyWeights& weights, Index t, double tau2, const SlopeOfRow& slope,
               SoftmaxOrders& row, OmittedOfWeights& omitted) {
  const double p2 = weights.overlap()(t, t), p3 = weights.own_twice()(t, t);
  if (!(p2 < 1)) return;
  const double first = -4 * p3 + 3 * weights.squared_overlap()(t, t) + p2 * p2;
  const double change = damped(tau2) * first * std::max(0.0, 1 - row.p2) / (1 - p2);
  row.p2 += change;
  row.p2_slope += first / ((1 + tau2) * (1 + tau2));
  const double factor = slope.level * std::exp(slope.growth);
  for (double* each : {&row.a, &row.a_slope, &row.a_curvature, &row.b}) *each *= factor;
  row.jp += weights.feedback()[t];
  omitted.value = std::max(omitted.value, damped(tau2) * std::fabs(change) / row.p2);
  omitted.score = std::max(omitted.score, damped(tau2) * std::fabs(slope.growth));
}

/// Returns what is left out of the overlap.
double weigh_pair(const KeyWeights& weights, const RowScores& rows, Index t, Index u, double growth,
                  SoftmaxOverlaps& pair) {
  const double shared = weights.overlap()(t, u), tau2 = std::sqrt(rows.tau2[t] * rows.tau2[u]);
  const double c = rows.c(t, u);
  const auto keys = [&](Index of) { return rows.keys[static_cast<std::size_t>(of)]; };
  const double more = std::max(keys(t), keys(u)), fewer = std::min(keys(t), keys(u));
  const double equal = (1 - 1 / fewer) / more, slopes = weights.slopes_overlap()(t, u);
  const auto flatter = [&](Index a, Index b) {
    return damped(rows.tau2[a]) * (weights.sharp_overlap()(a, b) - weights.own_twice()(a, b));
  };
  const double ratio = shared * more;
  const double change = flatter(t, u) + flatter(u, t) + c * damped(tau2) * (slopes - ratio * equal);
  pair.overlap = std::max(0.0, pair.overlap * ratio + change);
  pair.square *= ratio * ratio;
  const double factor = equal > 0 ? slopes / equal * std::exp(c * c * growth) : 1;
  for (double* each : {&pair.a_prime, &pair.a_second, &pair.a_third}) *each *= factor;
  return damped(tau2) * std::fabs(change);
}

}  // namespace

OmittedOfWeights weigh(const KeyWeights& weights, const RowScores& rows, RowAverages& averages) {
  OmittedOfWeights omitted;
  double left_out = 0, overlaps = 0;
  const Index size = rows.tau2.size();
  std::vector<SlopeOfRow> slopes;
  for (Index t = 0; t < size; ++t) {
    slopes.push_back(slope_of_row(weights, t, rows.tau2[t]));
    weigh_row(weights, t, rows.tau2[t], slopes.back(), averages.one[static_cast<std::size_t>(t)],
              omitted);
    for (Index u = 0; u <= t; ++u) {
      const double growth = (slopes.back().growth + slopes[static_cast<std::size_t>(u)].growth) / 2;
      SoftmaxOverlaps& pair = averages.two[static_cast<std::size_t>(t * (t + 1) / 2 + u)];
      left_out += weigh_pair(weights, rows, t, u, growth, pair);
      overlaps += pair.overlap;
    }
  }
  omitted.value = std::max(omitted.value, left_out / overlaps);
  return omitted;
}

}  // namespace scalecalc::moments
