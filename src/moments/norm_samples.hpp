#pragma once

#include <vector>

#include "moments/norm_variance.hpp"

/// Norms over samples, B sequences of T tokens each (docs/theory/layers.md#norm-samples). Of a
/// centred state R there are two levels: B (T-1) directions that differ within a sequence, and B -
/// 1 between sequences. A feature over the samples is Gaussian with covariance R, and is divided by
/// its own scatter.
namespace scalecalc::moments {

/// Eigenvalues of a centred state.
struct SampleLevels {
  double within = 0, between = 0;
};
SampleLevels sample_levels(const Alike<double>& x, const Counts& counts);
/// What is to be added to x, so that its levels are `levels`.
Alike<double> shift_to_levels(const Alike<double>& x, const SampleLevels& levels,
                              const Counts& counts);

/// y = x/s with s^2 = |x|^2/n, and the way back (I - y y^T/n)/s, averaged over such features: what
/// each level is multiplied by beside 1/E s^2.
struct SampleOrders {
  SampleLevels forward{1, 1};
  SampleLevels to_within{1, 0}, to_between{0, 1};  ///< of a gradient's two levels
  double inverse = 1;                              ///< E 1/s^2
  /// `along`: NormDirections::samples, what of the gradient is along y beside a random one's.
  SampleLevels back(const SampleLevels& gradient, double along = 1) const;
  double within(double along) const { return inverse + along * (to_within.within - inverse); }
};

/// E 1/|x|^2 times E |x|^2 of independent Gaussian parts, so many of each variance.
struct SampleLevel {
  double variance = 0, count = 0;
};
double inverse_of_levels(const std::vector<SampleLevel>& levels);

/// Relative variance over features of |x|^2 of n samples that a norm over them takes out: 2/(nu +
/// 2) with nu the dimensions that these levels fill, 1/nu more by V/D^2 of what weights have mixed.
double size_variance(const SampleLevels& levels, const Counts& counts, double map_overlap);

/// `share`: of a Gaussian feature's scatter of s^2, what there is: none after such a norm, where
/// every feature has the same s^2.
SampleOrders sample_orders(const SampleLevels& levels, const Counts& counts, double share);

/// x times `factor`, and then to these levels.
template <class X>
X at_levels(const X& x, double factor, const SampleLevels& levels, const Counts& counts) {
  const X y = scaled(x, factor);
  return sum(y, uniform(y, shift_to_levels(average(y), levels, counts)));
}

/// Nothing between two sequences.
template <class N>
Alike<N> without_between(Alike<N> x) {
  x.between = N(0);
  return x;
}
inline PerPosition without_between(PerPosition x) {
  x.between.setZero();
  return x;
}

}  // namespace scalecalc::moments
