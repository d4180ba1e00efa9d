#pragma once

#include <vector>

#include "steps/own_change.hpp"

/// Rows over the samples of the gradient dL/dz = p - [the target] of a softmax' logits, one a class
/// (docs/theory/first-step.md#logit-rows).
namespace scalecalc::steps {

/// Of N independent lognormal numbers g: mean and standard deviation of R = S^2/(N Q), the share of
/// Q = sum g^2 that lies along the vector of ones, S = sum g; and the variance of ln Q of a
/// lognormal law with its E Q and E Q^(1/2).
struct LognormalRow {
  double along = 1, along_deviation = 0;
  double log_variance = 0;
};
/// `variance` >= 0 of ln g, `count` >= 1.
LognormalRow lognormal_row(double count, double variance);

/// Of a class that is no sample's target: p, lognormal, `own` the variance of ln p that is each
/// sample's own and `shared` that of all samples alike.
std::vector<GradientRow> rows_of_others(double count, double own, double shared);

/// Of a class that is the target of one sample at least of so many, each with the chance
/// 1/`classes`: `square` is E p^2, and `all` E S^2/N. None where a class has more than a few
/// targets, and rows are nearly Gaussian.
std::vector<GradientRow> rows_of_targets(double count, double classes, double square, double all);

}  // namespace scalecalc::steps
