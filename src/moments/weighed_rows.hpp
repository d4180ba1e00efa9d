#pragma once

#include "moments/attention_softmax.hpp"
#include "moments/key_weights.hpp"

namespace scalecalc::moments {

/// Relative size of what is left out.
struct OmittedOfWeights {
  double value = 0, score = 0;  ///< of sums over keys, and of what holds A
};

/// Averages over rows of 1/sum pi^2 equal keys become those of keys that weigh pi: exact where
/// scores do not vary, and in the first order of tau2 (docs/theory/attention.md#weighted).
OmittedOfWeights weigh(const KeyWeights& weights, const RowScores& rows, RowAverages& averages);

}  // namespace scalecalc::moments
