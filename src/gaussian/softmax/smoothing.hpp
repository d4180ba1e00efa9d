#pragma once

#include <array>
#include <cstdint>
#include <vector>

/// The functions that every softmax integral is made of. With t = e^y and s = tau z,
///   t^k E[e^{ks} e^{-t e^s}] = E g_k(y + tau z),  g_k(w) = e^{kw} e^{-e^w},
/// so all of them are Gaussian averages of five fixed functions. These are analytic for
/// |Im w| < pi/2, and the trapezoidal rule on a lattice converges as e^{-pi^2/step}.
namespace scalecalc::gaussian::softmax {

/// E f(x + sigma z) as a sum over lattice points: sum_m weight(m) f(x + m step), |m| <= reach.
class GaussianWeights {
 public:
  GaussianWeights(double sigma, double step);
  int reach() const { return reach_; }
  /// Weights of -reach .. reach, followed by more zeros than a vector holds.
  const double* data() const { return weights_.data(); }
  /// The sum of the weights from m on.
  double above(std::int64_t m) const;

 private:
  int reach_ = 0;
  std::vector<double> weights_, above_;
};

/// The widest lattice, at most `widest`, on which an average over N(0, sigma^2) is exact to about
/// 1e-12 for functions that vary on the scale `smooth`.
double smoothing_step(double sigma, double widest, double smooth);

/// Above, all g_k(w) of k <= 4 are below 1e-25, and that of k = 8 is below 1e-19 of its largest.
inline constexpr double kTop = 4.25;
/// Where the Gaussian is cut. E sum p^4 over 1e6 keys at tau2 = 3.5 still feels 9 sigma.
inline constexpr double kTails = 12.0;

inline constexpr std::size_t kBumps = 9;
/// 1 - E g_0 and E g_k, 1 <= k < kBumps.
struct Averages {
  double fall = 0;
  std::array<double, kBumps> g{};
};

/// The averages at the points n `step` of a lattice.
class SmoothedBumps {
 public:
  /// g_k for k <= highest; `widest` bounds the step of the inner lattice. Below `lowest`, where
  /// they are e^{kw}, the functions are taken as 0.
  SmoothedBumps(double sigma, double step, double widest, int highest, double lowest = -60.0);
  Averages at(std::int64_t n) const;

 private:
  void sample();
  int ratio_, highest_;
  double inner_;
  GaussianWeights weights_;
  std::int64_t first_, last_;                  ///< lattice range of the samples
  std::array<std::vector<double>, kBumps> g_;  ///< g_[0] holds 1 - g_0
};

}  // namespace scalecalc::gaussian::softmax
