#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scalecalc/audit.hpp"

namespace scalecalc::audit_room {

/// The form of a distribution of unit variance, symmetric about 0.
struct Family {
  Start start = Start::normal;
  double kurtosis = 3, sixth = 15, eighth = 105;  ///< moments
  double bound = 0;                               ///< no value is farther; 0: any may be
};

/// Of zeros, ones and constants: a normal's.
const Family& family_of(Start start);
/// Normal, truncated normal, uniform.
const std::vector<Family>& families();

/// What the samples of one audit may differ by from their expectations, all of them at once.
class Bands {
 public:
  /// Bonferroni, two-sided.
  Bands(std::size_t comparisons, double confidence);
  double quantile() const { return quantile_; }  ///< of the normal distribution

  /// What std/expected lies within. The sum of squares of n values is a multiple of a chi-squared
  /// variable, of n - 1 degrees of freedom for a normal distribution, else of those that give its
  /// variance: var s^2 = sigma^4 (kurtosis - 1)/n.
  struct Ratio {
    double low = 0, high = 0;
  };
  /// Found once for each number of values: a model has many tensors of one size.
  Ratio std_ratio(const Family& family, std::int64_t count) const;
  /// Whether the kurtosis of so many values is one of the family's. Of a normal by its transform
  /// that is nearly normal (Anscombe and Glynn 1983), of the bounded ones by its asymptotic
  /// variance. Fewer than 1000 values (a normal: 100) tell nothing.
  bool kurtosis_fits(const Family& family, const Sample& sample) const;
  /// Whether a sample of that size reaches so many standard deviations.
  bool extreme_fits(const Family& family, std::int64_t count, double deviations) const;

 private:
  double tail_;  ///< on either side of one comparison
  double quantile_;
  /// By kurtosis and number. Not for two threads at once.
  mutable std::map<std::pair<double, std::int64_t>, Ratio> ratios_;
};

/// The standard error of the std of so many values, as a share of it.
double std_error(const Family& family, std::int64_t count);

}  // namespace scalecalc::audit_room
