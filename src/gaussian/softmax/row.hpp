#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/vector_math.hpp"

namespace scalecalc::gaussian::softmax {
/// A row is laid out for the machine that a file is compiled for, as vectors of lanes are.
inline namespace SCALECALC_LANES_NAMESPACE {

/// The averages that every integral over rows of softmax scores is made of, on a lattice in
/// y = ln t of the row's own (notation of smoothing.hpp). The lattice is
///   y = y_0 + w - e^{-(w + b)},  w = j step,
/// a double exponential rule: integrands fall as e^y to the left, where the points thin out, and as
/// e^{-e^y} to the right. Thirty points give eight digits.
///
/// Over scores s, s' of correlation c, with h_jn = E[He_n(z) g_j(y + tau z)]/sqrt(n!) (Mehler),
///   E g_j(u + s) g_k(v + s') = sum_n c^n h_jn(u) h_kn(v).
class Row {
 public:
  static constexpr std::size_t kLanes = base::vector_math::lanes;
  static constexpr std::size_t kAverages = 5;

  /// `terms` of the series (0: none); steps `finer` than usual, those in y besides `wider`.
  Row(double keys, double tau2, int terms, double finer = 1.0, double wider = 1.0);
  /// Of scores tau sqrt(n) u.v of unit vectors in n = `dimensions`: z = sqrt(n) u.v has the density
  /// (1 - z^2/n)^((n-3)/2) and its orthonormal polynomials p_n, Gegenbauer's, in the place of
  /// He_n/sqrt(n!), of no more terms than there are (two for n = 1). In the place of derivatives
  /// blocks have d1 = E z g_k and d2 = E z^2 g_k.
  static Row on_sphere(double keys, double tau2, int terms, double dimensions);

  /// Lattice points come in blocks of kLanes.
  struct Block {
    base::vector_math::Real weight;  ///< dy
    base::vector_math::Real fall, log_f;
    /// G_k = E g_k(y + tau z), k < kAverages (g[0] = F), and their derivatives in y.
    std::array<base::vector_math::Real, kAverages> g, d1, d2, d4;
  };

  double keys() const { return keys_; }
  double tau() const { return tau_; }
  int terms() const { return terms_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  /// How many of the blocks' points are worth visiting: those behind are in the tail.
  std::size_t points() const { return points_; }
  /// kLanes values of h_0n (n >= 1; 0 at n = 0), h_1n and h_2n, n <= terms.
  const double* h(int k, std::size_t block, int n) const {
    return &h_[static_cast<std::size_t>(k)][at(block, n)];
  }

 private:
  struct Scores;
  Row(double keys, double tau2, const Scores& scores, double step);
  std::size_t at(std::size_t block, int n) const {
    return (block * static_cast<std::size_t>(terms_ + 1) + static_cast<std::size_t>(n)) * kLanes;
  }
  static constexpr int kBumps = 3;
  using Bumps = std::array<base::vector_math::Real, kBumps>;
  template <std::size_t points>
  void add_terms(const double* hermite, const Bumps* bumps, std::size_t from);
  void average(const Scores& scores, const base::vector_math::Real& y, Block& block);
  std::array<base::vector_math::Real, 2> integrands(const Block& block) const;
  bool vanished(const Block& block, std::array<double, 2>& largest);
  void leave_out_start(const std::array<double, 2>& largest);
  void small_variance(const Scores& scores, const base::vector_math::Real& base, Block& block);

  double keys_, tau_;
  int terms_;
  bool is_gaussian_ = true;
  std::size_t points_ = 0;
  std::vector<Block> blocks_;
  std::array<std::vector<double>, kBumps> h_;
};

}  // namespace SCALECALC_LANES_NAMESPACE

/// b_k, k >= 1, of x p_{k-1} = b_k p_k + b_{k-1} p_{k-2} on the sphere of n dimensions: b_k^2 =
/// k (k+n-3)/((2k+n-2)(2k+n-4)).
double gegenbauer_step(double dimensions, int k);

/// Digits of the series where nothing else is asked for.
inline constexpr double kSeriesDigits = 7.0;
/// How many terms of the series leave out less than about 10^-(digits + 2) at correlations up to
/// |c|: those of bumps fall as |c|^n e^{-pi sqrt(n)/tau}.
int series_terms(double tau, double correlation, double digits = kSeriesDigits);

}  // namespace scalecalc::gaussian::softmax
