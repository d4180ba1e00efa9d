#pragma once

#include <vector>

namespace scalecalc::base {

/// Sample mean; NaN of no sample.
double sample_mean(const std::vector<double>& values);
/// NaN where a sample is NaN; of at least one sample.
double sample_median(std::vector<double> values);
/// Sample standard deviation (n - 1); 0 for one sample.
double sample_deviation(const std::vector<double>& values);
/// Standard error of the mean; NaN for fewer than two samples.
double error_of_mean(const std::vector<double>& values);

}  // namespace scalecalc::base
