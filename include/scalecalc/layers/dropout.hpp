#pragma once

#include <string>

namespace scalecalc {

/// Inverted: kept entries are divided by 1 - rate.
struct Dropout {
  std::string path;
  double rate = 0.0;
  /// One mask for all entries of a sample (a sequence): at the end of a branch, drop path
  /// (stochastic depth, Huang et al. 2016).
  bool per_sample = false;
};

}  // namespace scalecalc
