#pragma once

#include <cstdint>

#include "scalecalc/softmax.hpp"

/// Softmax averages of scores whose variance tau2 is beyond what the integrals cover: the row has
/// all but condensed on its largest score, and what is left is the chance that two are about 1
/// apart, which falls as 1/tau (docs/theory/attention.md#condensed).
namespace scalecalc::moments {

/// The largest variance that the integrals cover.
inline constexpr double kMostVariance = 1000;

/// A variance beyond it, as one that is covered and what averages at that one are multiplied by.
struct CondensedScores {
  double tau2 = 0;   ///< kMostVariance at most
  double share = 1;  ///< (kMostVariance/tau2)^(1/2) beyond, of 1 - P2 and its like

  explicit CondensedScores(double variance);
  bool is_beyond() const { return share < 1; }
  /// The correlation of two rows at `tau2` that stand for these: where rows are all but one, what
  /// tells them apart is tau2 (1 - c).
  double correlation(double c) const;
  SoftmaxOrders orders(SoftmaxOrders at_most) const;
  /// `at_most`: at correlation(c).
  SoftmaxOverlaps overlaps(SoftmaxOverlaps at_most, double c) const;
};

/// Relative error of taking 1 - P2 as 1/tau: the density of the gap between the two largest of T
/// scores falls by (2 ln T)^(1/2)/tau per unit. 0 where the integrals cover tau2.
double condensed_error(double keys, double tau2);

/// softmax_averages() at any variance.
SoftmaxAverages condensed_averages(std::int64_t keys, double tau2, double c);

}  // namespace scalecalc::moments
