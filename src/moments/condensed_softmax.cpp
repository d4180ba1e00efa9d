#include "moments/condensed_softmax.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {
namespace {

/// 1 - c up to which two condensed rows are told apart by tau2 (1 - c) rather than by c.
constexpr double kAllButOne = 0.02;

}  // namespace

CondensedScores::CondensedScores(double variance)
    : tau2(std::min(variance, kMostVariance)),
      share(variance > kMostVariance ? std::sqrt(kMostVariance / variance) : 1) {}

double CondensedScores::correlation(double c) const {
  const double apart = (1 - c) / (share * share);
  return apart < kAllButOne ? 1 - apart : std::min(c, 1 - kAllButOne);
}

SoftmaxOrders CondensedScores::orders(SoftmaxOrders at_most) const {
  if (!is_beyond()) return at_most;
  const double third = share * share * share, fifth = third * share * share;
  SoftmaxOrders out = at_most;
  out.p2 = 1 - share * (1 - at_most.p2);
  out.p2_slope = third * at_most.p2_slope;
  out.p2_curvature = fifth * at_most.p2_curvature;
  out.a = share * at_most.a;
  out.a_slope = third * at_most.a_slope;
  out.a_curvature = fifth * at_most.a_curvature;
  // E (tr J)^2, tr J = 1 - sum p^2.
  out.t2 = share * at_most.t2;
  out.b = third * at_most.b;
  out.hp2 = share * at_most.hp2;
  out.ha = share * at_most.ha;
  out.q2 = share * at_most.q2;
  out.s = share * at_most.s;
  out.jp = share * at_most.jp;
  return out;
}

SoftmaxOverlaps CondensedScores::overlaps(SoftmaxOverlaps at_most, double c) const {
  if (!is_beyond()) return at_most;
  SoftmaxOverlaps out = at_most;
  const double square = share * share;
  if ((1 - c) / square < kAllButOne) {
    out.overlap = 1 - share * (1 - at_most.overlap);
    out.a_prime = share * at_most.a_prime;
    out.a_second = at_most.a_second / share;
    out.a_third = at_most.a_third / (share * square);
    out.square = 1 - share * (1 - at_most.square);
    return out;
  }
  out.a_prime = square * at_most.a_prime;
  out.a_second = square * at_most.a_second;
  out.a_third = square * at_most.a_third;
  return out;
}

double condensed_error(double keys, double tau2) {
  const CondensedScores scores(tau2);
  return (1 - scores.share) * std::sqrt(2 * std::log(std::max(keys, 1.0)) / kMostVariance);
}

SoftmaxAverages condensed_averages(std::int64_t keys, double tau2, double c) {
  const CondensedScores scores(tau2);
  const SoftmaxAverages found = softmax_averages(keys, scores.tau2, scores.correlation(c));
  return {scores.orders(found.one), scores.overlaps(found.two, c)};
}

}  // namespace scalecalc::moments
