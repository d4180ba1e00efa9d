#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "scalecalc/gaussian.hpp"

/// Softmax averages (docs/theory/softmax.md#derivation): p = softmax of T scores, iid N(0, tau2); a
/// second row p' whose scores correlate with the first's, key by key, with c.
namespace scalecalc {

/// Each value with an estimate of its (absolute) error. T from 1 to 1e6, tau2 from 0 to 1e3.
struct SoftmaxOne {
  Estimate p2;           ///< E sum_s p_s^2
  Estimate p3, p4, p22;  ///< E sum p^3, E sum p^4, E (sum p^2)^2
  Estimate a;            ///< E sum_s p_s^2 (1 - 2 p_s + sum_r p_r^2) = p2 - 2 p3 + p22
};
/// Throws Error(input) outside the ranges.
SoftmaxOne softmax_one(std::int64_t keys, double tau2);

/// E tr J^4 of the slope of softmax J = diag(p) - p p^T, with its error. Throws likewise.
Estimate softmax_slope_fourth(std::int64_t keys, double tau2);

struct SoftmaxPair {
  Estimate overlap;  ///< O = E sum_s p_s p'_s
  Estimate a_prime;  ///< A' = (1/tau2) dO/dc
};
SoftmaxPair softmax_pair(std::int64_t keys, double tau2, double correlation);
/// Rows with different numbers of keys, fewer <= more, the shared keys being the first `fewer`.
SoftmaxPair softmax_pair(std::int64_t fewer, std::int64_t more, double tau2, double correlation);

/// What the next orders of attention ask of one row (docs/theory/softmax.md#orders), J being the
/// slope of softmax, diag(p) - p p^T, z the scores over tau, and h_k, zz_k the averages with z^4 -
/// 6 z^2 + 3 and z^2 - 1 put in.
struct SoftmaxOrders {
  double p2 = 0, p2_slope = 0, p2_curvature = 0;  ///< P2 and its derivatives in tau2
  double a = 0, a_slope = 0, a_curvature = 0;     ///< A = E tr J^2, likewise
  double t2 = 0;                                  ///< E (tr J)^2
  double m2 = 0;                                  ///< E (sum p z)^2
  double b = 0;                                   ///< E sum p^2 (z - sum p z)^2
  double hp2 = 0, ha = 0;                         ///< P2 and A with h_k
  double q1 = 0, q2 = 0;                          ///< P2 and A with zz_k, each of its own key
  double s = 0;                                   ///< E sum p^2 (1 - p)^2
  double jp = 0;                                  ///< E |J p|^2
  double error = 0;  ///< absolute, of each of them (of derivatives: times powers of tau2)
};
/// A few microseconds; limits at tau2 = 0 and at one key included.
SoftmaxOrders softmax_orders(std::int64_t keys, double tau2);

/// What they ask of two rows: O with its derivatives in c at fixed variances.
struct SoftmaxOverlaps {
  double overlap = 0;
  double a_prime = 0, a_second = 0, a_third = 0;  ///< A', dA'/dc, d^2A'/dc^2
  double square = 0;                              ///< E (sum p p')^2
  double error = 0;  ///< of overlap and a_prime, relative to the overlap
};
/// As softmax_pair, but to 1e-7 in ten microseconds or so: by a series in c (Mehler's), for which
/// tau2 must be moderate or c away from 1; else by softmax_pair, where a_second and a_third are
/// differences (to about 1%) and square is P22 O/P2, which is right at c = 1.
SoftmaxOverlaps softmax_overlaps(std::int64_t keys, double tau2, double correlation);

/// Several rows, each with its own keys (the first ones of all) and variance: for attention whose
/// rows differ, as under a causal mask. Rows are prepared once and then compared.
class SoftmaxRows {
 public:
  struct Row {
    double keys;  ///< between whole numbers, of weights that are worth so many equal keys
    double tau2;
  };
  explicit SoftmaxRows(const std::vector<Row>& rows, int threads = 1);
  const SoftmaxOrders& orders(std::size_t row) const;
  /// A' = dO/dc/(tau tau'); twice the same row stands for two rows like it.
  SoftmaxOverlaps overlaps(std::size_t row, std::size_t other, double correlation) const;
  /// Of many pairs, which take longer series than one is worth: a few times as fast, and to 8e-7.
  struct Pair {
    std::size_t row, other;
    double correlation;
  };
  std::vector<SoftmaxOverlaps> overlaps_of(const std::vector<Pair>& pairs, int threads) const;
  /// Of all pairs t >= u at entry t (t + 1)/2 + u of `correlations`.
  std::vector<SoftmaxOverlaps> overlaps(const std::vector<double>& correlations, int threads) const;

 private:
  friend class SoftmaxRowSheets;
  struct Impl;
  explicit SoftmaxRows(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// SoftmaxRows of one layer of a deep network after another. From layer to layer the variance of a
/// row drifts little, and its averages are smooth functions of it: where enough layers are to come,
/// they are interpolated between a few variances (docs/theory/softmax.md#row-sheets). What that
/// leaves is part of the errors that the rows state.
/// Not for several threads at once.
class SoftmaxRowSheets {
 public:
  /// Nothing is kept yet.
  SoftmaxRowSheets();
  ~SoftmaxRowSheets();
  SoftmaxRowSheets(const SoftmaxRowSheets&) = delete;
  SoftmaxRowSheets& operator=(const SoftmaxRowSheets&) = delete;
  /// How many layers there are in all; without it each is integrated.
  void expect(int layers);
  /// The rows of the next layer. Throws Error(input) as SoftmaxRows does: keys from 1 to 1e6,
  /// variances from 0 to 1e3.
  SoftmaxRows operator()(const std::vector<SoftmaxRows::Row>& rows, int threads = 1);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Both at one number of keys.
struct SoftmaxAverages {
  SoftmaxOrders one;
  SoftmaxOverlaps two;
};
SoftmaxAverages softmax_averages(std::int64_t keys, double tau2, double correlation);

/// softmax_averages along a line tau2 = base + ratio (1 - c), by interpolation in c, built at once
/// in a fraction of a millisecond. Tokens that keep their size through a network move on such a
/// line: base is 0 for attention to themselves, ratio for keys that do not move with them.
class SoftmaxCurve {
 public:
  SoftmaxCurve(std::int64_t keys, double base, double ratio, double c_min = 0.0);
  bool covers(double correlation) const;
  SoftmaxAverages operator()(double correlation) const;
  /// The largest error found between the nodes, relative as in SoftmaxAverages.
  double measured_error() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

/// Softmax averages of scores tau sqrt(n) u.v_s of unit vectors, as norms of queries and keys make
/// them (docs/theory/softmax.md#sphere): keys v_s independent and uniform on the sphere of n
/// dimensions, queries u and u' at a cosine. Each score has the variance tau2, and is at most
/// tau sqrt(n).
class SoftmaxOnSphere {
 public:
  struct One {
    double p2 = 0, a = 0;   ///< E sum p^2, A
    double p22 = 0, s = 0;  ///< E (sum p^2)^2, E sum p^2 (1 - p)^2
    double m2 = 0;          ///< E (sum p k.u)^2 of Gaussian keys k, with v = k/|k|
    double along = 0;       ///< n E sum_s (J J^T)_ss (u.v_s)^2, A of weights that know nothing
    double q1 = 0;          ///< E sum p^2 (n (u.v)^2 - 1)
    double error = 0;       ///< absolute
  };
  struct Two {
    double overlap = 0;  ///< O = E sum p p'
    double a_prime = 0;  ///< E tr J J', A at u = u'
    double square = 0;   ///< E (sum p p')^2
    double along = 0;    ///< n E sum_s (J J'^T)_ss u.v_s u'.v_s
    double error = 0;    ///< absolute
  };
  /// n >= 1, not necessarily whole, and bounds of scores up to which sums are short.
  static bool covers(double dimensions, double tau2);
  /// Throws Error(input) outside what it covers. `pairs`: whether two() is asked for.
  SoftmaxOnSphere(double dimensions, const std::vector<SoftmaxRows::Row>& rows, bool pairs);
  One one(std::size_t row) const;
  Two two(std::size_t row, std::size_t other, double cosine) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

/// The lognormal form e^(tau2)/T and e^(c tau2)/T: a large-T, small-tau2 limit, for --approx only.
double softmax_p2_lognormal(std::int64_t keys, double tau2);
double softmax_overlap_lognormal(std::int64_t keys, double tau2, double correlation);

/// The same quantities by sampling, with standard errors (a check, and --engine montecarlo); p2 and
/// a are those of the row with fewer keys.
struct SoftmaxSamples {
  Estimate p2, a, overlap, a_prime;
};
SoftmaxSamples softmax_monte_carlo(std::int64_t fewer, std::int64_t more, double tau2,
                                   double correlation, const MonteCarloOptions& options);

}  // namespace scalecalc
