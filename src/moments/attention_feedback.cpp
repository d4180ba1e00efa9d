#include "moments/attention_feedback.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {
namespace {

/// Var S, S = sum p^2: P22 = t2 - 1 + 2 P2.
double sharpness_variance(const SoftmaxOrders& row) {
  return std::max(row.t2 - 1 + 2 * row.p2 - row.p2 * row.p2, 0.0);
}

/// The mean Hermite order of S: 4 tau2 E|J p|^2 = E|dS/dz|^2 is the sum of n over its variance.
/// S is even at first, so 2 at least.
double mean_order(const SoftmaxOrders& row, double tau2) {
  const double variance = sharpness_variance(row);
  return variance > 0 ? std::max(4 * tau2 * row.jp / variance, 2.0) : 2;
}

/// E (J p).(J' p') over its value at c = 1. Orders from 2 spread as Poisson's give S the covariance
/// c^2 e^{(order - 2)(c - 1)}, whose slope this is: within 5% of 1 of draws for tau2 up to 4.
double turned(double order, double c) {
  const double more = order - 2;
  return (2 * c + more * c * c) * std::exp(more * (c - 1)) / order;
}

/// E (sum p (p - S) z)^2: what moves S as tau does, by which it goes as S - 1/T.
double along_query(const SoftmaxOrders& row, double tau2, double keys) {
  const double mean = std::sqrt(tau2) * row.p2_slope, excess = row.p2 - 1 / keys;
  const double fluctuation = excess > 0 ? sharpness_variance(row) / (excess * excess) : 0;
  return std::min(mean * mean * (1 + fluctuation), row.jp * keys);
}

}  // namespace

FeedbackFactors row_feedback(const SoftmaxOrders& row, double tau2, double keys, double heads,
                             const Smallness& small) {
  if (keys <= 1) return {1, 1, 0, 0, 0};
  const double same = 1 / heads, rest = 1 - row.p2, p22 = row.t2 - 1 + 2 * row.p2;
  const double apart = (row.p2 * row.p2 + rest * rest / (keys - 1)) / keys;
  const double along = small.qk_norm ? 0 : along_query(row, tau2, keys);
  // With G the realised overlaps of tokens, p G J G J G p and, at keys, p G J J G p: two G that
  // fluctuate together leave the trace of what is between them.
  const double overlap = small.own * small.overlap;
  const double outer = row.jp + overlap * row.a * row.p2;
  const double inner = overlap * small.values * rest * std::max(row.p2 - p22 - row.a, 0.0);
  const double query =
      outer + inner + (along - row.jp) / small.head_width + small.own * along / small.width;
  return {same * row.p2 + (1 - same) / keys, same * p22 + (1 - same) * apart, query, outer, outer};
}

double omitted_feedback(const SoftmaxOrders& row, const Smallness& small) {
  return row.jp > 0 ? 2 * std::sqrt(row.b * row.m2 / row.jp) / small.width : 0;
}

FeedbackFactors pair_feedback(const SoftmaxOverlaps& rows, const SoftmaxOrders& one,
                              const SoftmaxOrders& other, const FeedbackFactors& of_one,
                              const FeedbackFactors& of_other, double tau2, double c, double more,
                              double heads, const Smallness& small) {
  if (more <= 1) return {1, 1, 0, 0, 0};
  const double same = 1 / heads;
  const double apart = (one.p2 * other.p2 + (1 - one.p2) * (1 - other.p2) / (more - 1)) / more;
  const double turn = turned(std::sqrt(mean_order(one, tau2) * mean_order(other, tau2)), c);
  const double overlap = small.own * small.overlap;
  const auto outer = [&](const SoftmaxOrders& row) { return overlap * row.a * row.p2; };
  const double fluctuation = overlap * rows.a_prime * rows.overlap;
  const double query = (of_one.query - outer(one)) * (of_other.query - outer(other));
  const double score = turn * std::sqrt(one.jp * other.jp) + fluctuation;
  return {same * rows.overlap + (1 - same) / more, same * rows.square + (1 - same) * apart,
          turn * std::sqrt(std::max(query, 0.0)) + fluctuation, c * score, score};
}

}  // namespace scalecalc::moments
