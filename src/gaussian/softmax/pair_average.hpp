#pragma once

#include <cstdint>
#include <vector>

#include "base/vector_math.hpp"
#include "gaussian/softmax/smoothing.hpp"

namespace scalecalc::gaussian::softmax {

/// Averages of two bumps over a pair of scores (s, s') of correlation c, for several lattice
/// points: G_jk(u, v) = E g_j(u + s) g_k(v + s').
struct PairAverages {
  base::vector_math::Real fall{};               ///< 1 - G_00
  base::vector_math::Real g11{}, g10{}, g01{};  ///< as named
  base::vector_math::Real fall_v{}, g_v{};      ///< 1 - E g_0(v + s'), E g_1(v + s')
};

/// s = x + s_1 and s' = +-x + s_2 with x ~ N(0, |c| tau2) and s_1, s_2 ~ N(0, (1 - |c|) tau2)
/// independent, + for c >= 0: so with the averages H_k of g_k over s_1,
///   G_jk(u, v) = E_x H_j(u + x) H_k(v +- x).
/// Everything is on one lattice, where the averages over x are sums along a line: along u + v at
/// fixed u - v for c >= 0, along u - v at fixed u + v for c < 0. With u = fixed + along,
/// v = +-(along - fixed).
class PairAverage {
 public:
  PairAverage(double fewest, double tau2, double correlation, double finer);

  double fixed_step() const { return fixed_ * step_; }
  double along_step() const { return along_ * step_; }
  /// At points along .. along + lanes - 1 of a line; zeros outside the range of the tables.
  PairAverages at(std::int64_t fixed, std::int64_t along) const;
  /// The same for one point, its 1 - G_00.
  double fall(std::int64_t fixed, std::int64_t along) const;

 private:
  struct Sums;
  Sums sums(std::int64_t u, std::int64_t v) const;
  void tabulate(double sigma, double finer, double reach);

  bool mirrored_;  ///< c < 0
  double step_ = 0;
  std::int64_t fixed_ = 1, along_ = 1;  ///< steps in units of step_
  GaussianWeights weights_;
  std::int64_t first_ = 0, last_ = 0;  ///< lattice range of the tables
  std::int64_t low_ = 0, top_ = 0;     ///< where the bumps are not constant
  std::vector<double> fall_, bump_, fall_second_, bump_second_;
};

}  // namespace scalecalc::gaussian::softmax
