#pragma once

#include "moments/attention_scores.hpp"

/// Keys of unequal sizes below sharp scores: the largest get the weight of whatever query asks
/// (docs/theory/attention.md#sharp-sizes).
namespace scalecalc::moments {

/// What sizes k_s of mean 1 make of n E sum_s p_s p'_s of two rows of independent queries, and of
/// the same with the size of the value, k_s, in it: both 1 where sizes are equal.
struct OverlapOfSizes {
  double overlap = 1, mix = 1;
  double omitted = 0;  ///< relative
};

/// Of `keys` keys whose scores have the variance tau2 k_s; `variance` >= 0 is that of ln k_s.
OverlapOfSizes overlap_of_sizes(double keys, double tau2, double variance);

/// Of two rows' factors, `pair`, what sizes of keys beyond those of Gaussian tokens add: of the
/// `overlap` of the weights the share `independent` knows nothing of the other row. No more than
/// one row has. Returns what the variance of the overlap grows by.
double add_key_sizes(const Smallness& small, double cosine, double keys, double tau2,
                     double independent, double overlap, const RowFactors<double>& row,
                     PairFactors<double>& pair, Scores& scores);
/// Of all pairs of rows, as the last row has it.
double add_key_sizes(const Smallness& small, double cosine, const RowScores& rows,
                     Factors<PerPosition>& factors, Scores& scores);

}  // namespace scalecalc::moments
