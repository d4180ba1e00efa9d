#pragma once

#include "moments/state.hpp"
#include "scalecalc/layers.hpp"
#include "scalecalc/softmax.hpp"

/// What rows of attention weights have in common (docs/theory/attention.md#few-rows).
namespace scalecalc::moments {

/// Relative variance of what comes back to one row's scores; that of tr J^2 alone, which other rows
/// have too where the same two keys are as close in their scores, and how far those of one head do.
struct RowsVariance {
  double own = 0, ties = 0, together = 1;
};
/// Of a softmax that has all but condensed a row counts where its two largest scores are close, z
/// apart with a chance that hardly depends on z: with p = 1/(1 + e^z) E sum p^2 = 1 - 2 rho, E tr
/// J^2 = rho 2/3 and E (tr J^2)^2 = rho 4/35, per rho of z. A Gaussian g along 1/P2 directions adds
/// 2 P2. Rows of one head correlate by c in their scores, of variance tau2.
RowsVariance rows_variance(const SoftmaxOrders& row, double tau2, double c);

/// Of two rows whose scores correlate by c, of E tr J^2 tr J'^2 about the product of means the
/// share of equal rows': where z of the first is about 0 that of the second is normal, of the
/// variance 2 tau2 (1 - c^2), and tr J^2 as a function of z has the variance pi^2/3 - 2.
double ties_together(double tau2, double c);

/// Relative variance of the average over all rows, of tokens that correlate by `cosine`. Scores of
/// heads of one feature are products of two numbers: keys that are close are so for all queries of
/// their sign, which two tokens have in common with a chance of 1 - arccos(c)/pi, and two heads
/// with 1/2.
double average_of_rows(const Attention& layer, const RowsVariance& rows, double cosine,
                       const Counts& over);

/// The mean over rows of the weight that a token's own value has: 1 over the keys of its row, of
/// any softmax of keys that are alike. None of a memory.
double own_weight(const Attention& layer, double tokens);

}  // namespace scalecalc::moments
