#pragma once

#include "scalecalc/verify.hpp"
#include "verify/agreement/expected.hpp"

namespace scalecalc {

/// What all of many right comparisons stay within at once, whatever their correlation (Bonferroni).
struct Quantiles {
  double deviations = 0;  ///< of Student's t: a mean of normal values over its estimated error
  /// Of a normal sample, true variance over measured one, by the chi-squared distribution.
  double least_variance = 1, most_variance = 1;
  double tail = 0.005;  ///< the chance of each side of one comparison
};
Quantiles simultaneous_quantiles(std::size_t comparisons, int seeds, double confidence);

/// Whether the logarithms are to be compared; `scale_is_logarithmic` is the answer for the second
/// moment that the quantity follows.
bool wants_logarithms(const Case& one, bool scale_is_logarithmic);
Comparison judge(const Case& one, bool in_log_space, const Quantiles& quantiles);

}  // namespace scalecalc
