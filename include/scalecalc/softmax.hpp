#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "scalecalc/gaussian.hpp"

/// Softmax averages of theory, section 2: p = softmax of T scores, iid N(0, tau2); a second row p'
/// whose scores correlate with the first's, key by key, with c.
namespace scalecalc {

/// Each value with an estimate of its (absolute) error. T from 1 to 1e6, tau2 from 0 to 1e3.
struct SoftmaxOne {
  Estimate p2;           ///< E sum_s p_s^2
  Estimate p3, p4, p22;  ///< E sum p^3, E sum p^4, E (sum p^2)^2
  Estimate a;            ///< E sum_s p_s^2 (1 - 2 p_s + sum_r p_r^2) = p2 - 2 p3 + p22
};
/// Throws Error(input) outside the ranges.
SoftmaxOne softmax_one(std::int64_t keys, double tau2);

struct SoftmaxPair {
  Estimate overlap;  ///< O = E sum_s p_s p'_s
  Estimate a_prime;  ///< A' = (1/tau2) dO/dc
};
SoftmaxPair softmax_pair(std::int64_t keys, double tau2, double correlation);
/// Rows with different numbers of keys, fewer <= more, the shared keys being the first `fewer`.
SoftmaxPair softmax_pair(std::int64_t fewer, std::int64_t more, double tau2, double correlation);

/// The lognormal form e^(tau2)/T and e^(c tau2)/T: a large-T, small-tau2 limit, for --approx only.
double softmax_p2_lognormal(std::int64_t keys, double tau2);
double softmax_overlap_lognormal(std::int64_t keys, double tau2, double correlation);

/// P2, A, O and A' at one T for many (tau2, c), by interpolation in both. The range of tau2 is cut
/// into panels, each built when first asked for, its error measured against the integrals at points
/// between the nodes. Safe to share between threads. Arguments outside the range: Error(input).
class SoftmaxTable {
 public:
  /// Covers tau2 in [0, tau2_max] and c in [c_min, 1].
  SoftmaxTable(std::int64_t keys, double tau2_max, double c_min = 0.0);
  double p2(double tau2) const;
  double a(double tau2) const;
  double overlap(double tau2, double correlation) const;
  double a_prime(double tau2, double correlation) const;
  /// Largest relative error found at the check points; builds the panels that are missing.
  double measured_error() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

/// Causal averages over row lengths 1..T: means of P2 and A over the rows, of O and A' over pairs
/// of different rows (1 and 0 when there are none), on a geometric grid of lengths, with an error
/// measured between its points.
struct CausalSoftmax {
  Estimate p2, overlap, a, a_prime;
};
CausalSoftmax softmax_causal(std::int64_t keys, double tau2, double correlation);

/// The same quantities by sampling, with standard errors (a check, and --engine montecarlo); p2 and
/// a are those of the row with fewer keys.
struct SoftmaxSamples {
  Estimate p2, a, overlap, a_prime;
};
SoftmaxSamples softmax_monte_carlo(std::int64_t fewer, std::int64_t more, double tau2,
                                   double correlation, const MonteCarloOptions& options);

}  // namespace scalecalc
