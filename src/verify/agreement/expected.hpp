#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scalecalc/passes.hpp"
#include "scalecalc/trace.hpp"

namespace scalecalc {

/// A variance of a logarithm that is so large is that of rare events: it is the relative variance,
/// and the logarithm has none.
inline constexpr double of_rare_events = 20;

/// What passes of this width are to show of one quantity.
struct Expected {
  double mean = 0;          ///< over draws
  double typical = 0;       ///< of a draw: mean x exp(-log_variance/2)
  double log_variance = 0;  ///< of the quantity over draws; 0: not predicted
  double error = 0;         ///< of mean and typical: computation, orders left out, rounding of sums
  double rounding = 0;      ///< standard deviation of the passes' own rounding
  /// Part of the mean that rare events make, a Poisson number of them in all seeds together.
  double rare = 0;
  double rare_events = 0;  ///< its expectation; 0: none
  /// Every draw has this sign as its own: a second moment. Others are compared in logarithms only
  /// where the second moment of their place is.
  bool is_square = false;
};

/// One comparison to make.
struct Case {
  std::string path, kind, quantity;
  Expected expected;
  const std::vector<double>* samples = nullptr;
};

/// The comparisons of one site, a square before what follows its scale. `values` is the site of an
/// attention's values beside its queries or keys, whose gradient is a difference of terms of that
/// size; null elsewhere. `epsilon` is that of the passes' numbers.
std::vector<Case> site_cases(const Site& site, const Site* values, const SiteSamples& samples,
                             double epsilon);
/// `at` is the parameter's own site; null when it has none. Sums run over so many sequences.
std::vector<Case> parameter_cases(const ParameterMoments& parameter, const Site* at,
                                  const Site* values, const ParameterSamples& samples,
                                  double epsilon, std::int64_t sequences);

}  // namespace scalecalc
