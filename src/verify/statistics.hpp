#pragma once

#include "scalecalc/verify.hpp"

namespace scalecalc {

/// Sample mean, median and standard deviation (n - 1; 0 for one sample).
double sample_mean(const std::vector<double>& values);
double sample_median(std::vector<double> values);
double sample_deviation(const std::vector<double>& values);

/// Fills everything but layers, alpha, lambda and the samples, which are given: one sample a seed,
/// the same seeds in the same order at each depth.
void summarise(SweepResult& result);

}  // namespace scalecalc
