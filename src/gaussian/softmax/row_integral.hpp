#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "gaussian/softmax/smoothing.hpp"
#include "scalecalc/gaussian.hpp"

namespace scalecalc::gaussian::softmax {

/// What the inner averages and the roundings leave.
inline constexpr double kRowRounding = 1e-11;

/// The error of the rule is its Fourier transform at 2 pi/step, which falls at least exponentially:
/// with three times the step it is at least the cube root. One of the three shifts of that coarse
/// lattice shows it whatever the phase.
inline Estimate lattice_estimate(double step, const std::array<double, 3>& sums) {
  const double total = sums[0] + sums[1] + sums[2];
  double coarse = 0;
  for (const double sum : sums) coarse = std::max(coarse, std::abs(3.0 * sum / total - 1.0));
  const double value = step * total;
  return {value, value * (2.0 * coarse * coarse * coarse + kRowRounding), Method::quadrature};
}

/// Averages of one row over T keys: integrals over y = ln t of products of
/// G_k = t^k E[e^{ks} e^{-t e^s}] and powers of F = G_0, which are above 0, on a lattice.
template <std::size_t count>
class RowIntegral {
 public:
  using Terms = std::array<double, count>;

  RowIntegral(double keys, double tau2, double finer, int highest)
      : keys_(keys),
        tau_(std::sqrt(tau2)),
        step_(y_step(keys, std::sqrt(tau2)) / finer),
        bumps_(tau_, step_, 0.2 / finer, highest) {}

  /// `integrand(averages)`: at one point.
  template <class Integrand>
  std::array<Estimate, count> integrate(const Integrand& integrand) {
    const std::int64_t from = start();
    march(from, 1, integrand);
    march(from - 1, -1, integrand);
    std::array<Estimate, count> out;
    for (std::size_t k = 0; k < count; ++k)
      out[k] = lattice_estimate(step_, {sums_[0][k], sums_[1][k], sums_[2][k]});
    return out;
  }

 private:
  /// The integrand is smooth on the scale of g_k, or of the largest of T scores, whichever is
  /// wider.
  static double y_step(double keys, double tau) {
    const double extreme = tau / (1.0 + std::sqrt(2.0 * std::log(keys)));
    return 0.25 * std::sqrt(1.0 + extreme * extreme);
  }

  /// The point where (T-1)(1 - F) is about 1, by bisection.
  std::int64_t start() const {
    const double target = std::min(0.5, 1.0 / keys_);
    std::int64_t low = static_cast<std::int64_t>(-(9.0 * tau_ + 60.0) / step_), high = -low;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (bumps_.at(middle).fall < target ? low : high) = middle;
    }
    return low;
  }

  template <class Integrand>
  void march(std::int64_t from, int direction, const Integrand& integrand) {
    Terms previous{};
    for (std::int64_t n = from;; n += direction) {
      const Terms value = integrand(bumps_.at(n));
      bool vanished = true;
      for (std::size_t k = 0; k < count; ++k) {
        sums_[static_cast<std::size_t>((n % 3 + 3) % 3)][k] += value[k];
        largest_[k] = std::max(largest_[k], value[k]);
        vanished &= value[k] <= 1e-16 * largest_[k] && value[k] <= previous[k];
      }
      if (vanished) return;
      previous = value;
    }
  }

  double keys_, tau_, step_;
  SmoothedBumps bumps_;
  std::array<Terms, 3> sums_{};  ///< over every third point
  Terms largest_{};
};

}  // namespace scalecalc::gaussian::softmax
