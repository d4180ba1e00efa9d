#pragma once

#include "gaussian/softmax/row.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc::gaussian::softmax {

/// O and its derivatives in c for two rows, the first with no more keys than the second; both need
/// series_terms(tau, c, digits) terms. The same object twice is two rows alike, at half the cost.
SoftmaxOverlaps integrate_overlaps(const Row& fewer, const Row& more, double correlation,
                                   double digits = kSeriesDigits);

}  // namespace scalecalc::gaussian::softmax
