#pragma once

#include <Eigen/Core>

#include "moments/attention_softmax.hpp"
#include "moments/head_lengths.hpp"

/// Rows of scores and pairs of them in heads of few features, averaged over lengths and angles of
/// queries (head_lengths.hpp), or over angles alone where these are normed (unit_vectors.hpp).
namespace scalecalc::moments {

/// The arguments of row_factors().
AveragedRow averaged_row(const HeadLengths& lengths, double keys, double tau2, double cosine,
                         double plain, const Smallness& small);

/// Whether pairs among so many rows of at most this variance are; `alike` as in PairLengths.
bool averages_pairs(const HeadLengths& lengths, const Smallness& small, double tau2,
                    Eigen::Index rows, bool alike);

/// Of two rows that are alike.
AveragedPair average_pair(EqualPairLengths& known, const HeadLengths& lengths,
                          const Smallness& small, double keys, double tau2, double key_cosine,
                          double cosine, double turned, const SoftmaxOverlaps& mean);

/// Of the rows of a mask, in the place of what they are at their mean; `cosines` of queries as E A'
/// weighs them, `along` as in AveragedPair. Of more than PairLengths::most_rows rows some stand for
/// those between. Returns the most that one leaves out, relative.
double average_pairs(const HeadLengths& lengths, const RowScores& rows, double key_cosine,
                     const Smallness& small, int threads, Eigen::ArrayXXd& cosines,
                     Eigen::ArrayXXd& along, RowAverages& averages);

}  // namespace scalecalc::moments
