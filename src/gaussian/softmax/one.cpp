#include "gaussian/softmax/one.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "gaussian/softmax/check.hpp"
#include "gaussian/softmax/smoothing.hpp"

namespace scalecalc {
namespace gaussian::softmax {
namespace {

constexpr int kCount = 4;
/// What the inner averages and the roundings leave.
constexpr double kRounding = 1e-11;
using Terms = std::array<double, kCount>;  ///< p2, p3, p4, p22

/// In y = ln t, with G_k = t^k E[e^{ks} e^{-t e^s}] and F = G_0:
///   E sum p^k = T/Gamma(k) Int G_k F^{T-1} dy,
///   E (sum p^2)^2 = E sum p^4 + T(T-1)/Gamma(4) Int G_2^2 F^{T-2} dy.
class OneRow {
 public:
  OneRow(double keys, double tau2, double finer)
      : keys_(keys),
        tau_(std::sqrt(tau2)),
        step_(y_step(keys, std::sqrt(tau2)) / finer),
        bumps_(tau_, step_, 0.2 / finer, 4) {}

  SoftmaxOne integrate();

 private:
  static double y_step(double keys, double tau);
  Terms integrand(std::int64_t n) const;
  std::int64_t start() const;
  void march(std::int64_t from, int direction);

  double keys_, tau_, step_;
  SmoothedBumps bumps_;
  std::array<Terms, 3> sums_{};  ///< over every third point
  Terms largest_{};
};

/// The integrand is smooth on the scale of g_k, or of the largest of T scores, whichever is wider.
double OneRow::y_step(double keys, double tau) {
  const double extreme = tau / (1.0 + std::sqrt(2.0 * std::log(keys)));
  return 0.25 * std::sqrt(1.0 + extreme * extreme);
}

Terms OneRow::integrand(std::int64_t n) const {
  const Averages at = bumps_.at(n);
  if (at.fall >= 1.0) return {};
  const double log_f = std::log1p(-at.fall);
  const double others = keys_ * std::exp((keys_ - 1.0) * log_f);
  const double pairs = keys_ * (keys_ - 1.0) * std::exp((keys_ - 2.0) * log_f);
  const double p4 = at.g[4] * others / 6.0;
  return {at.g[2] * others, at.g[3] * others / 2.0, p4, p4 + at.g[2] * at.g[2] * pairs / 6.0};
}

/// The point where (T-1)(1 - F) is about 1, by bisection.
std::int64_t OneRow::start() const {
  const double target = std::min(0.5, 1.0 / keys_);
  std::int64_t low = static_cast<std::int64_t>(-(9.0 * tau_ + 60.0) / step_), high = -low;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (bumps_.at(middle).fall < target ? low : high) = middle;
  }
  return low;
}

void OneRow::march(std::int64_t from, int direction) {
  Terms previous{};
  for (std::int64_t n = from;; n += direction) {
    const Terms value = integrand(n);
    bool vanished = true;
    for (int k = 0; k < kCount; ++k) {
      sums_[static_cast<std::size_t>((n % 3 + 3) % 3)][k] += value[k];
      largest_[k] = std::max(largest_[k], value[k]);
      vanished &= value[k] <= 1e-16 * largest_[k] && value[k] <= previous[k];
    }
    if (vanished) return;
    previous = value;
  }
}

/// The error of the rule is its Fourier transform at 2 pi/step, which falls at least exponentially:
/// with three times the step it is at least the cube root. One of the three shifts of that coarse
/// lattice shows it whatever the phase.
Estimate estimate(double step, const std::array<double, 3>& sums) {
  const double total = sums[0] + sums[1] + sums[2];
  double coarse = 0;
  for (const double sum : sums) coarse = std::max(coarse, std::abs(3.0 * sum / total - 1.0));
  const double value = step * total;
  return {value, value * (2.0 * coarse * coarse * coarse + kRounding), Method::quadrature};
}

SoftmaxOne OneRow::integrate() {
  const std::int64_t from = start();
  march(from, 1);
  march(from - 1, -1);
  std::array<Estimate, kCount> out;
  for (int k = 0; k < kCount; ++k) {
    out[k] = estimate(step_, {sums_[0][k], sums_[1][k], sums_[2][k]});
  }
  SoftmaxOne result{out[0], out[1], out[2], out[3], {}};
  result.a.value = out[0].value - 2.0 * out[1].value + out[3].value;
  result.a.error = out[0].error + 2.0 * out[1].error + out[3].error;
  return result;
}

/// Equal weights 1/T.
SoftmaxOne uniform_row(double keys) {
  const auto exact = [](double value) { return Estimate{value, 0.0, Method::closed_form}; };
  const double p = 1.0 / keys;
  return {exact(p), exact(p * p), exact(p * p * p), exact(p * p), exact(p * (1.0 - p))};
}

}  // namespace

SoftmaxOne integrate_one(double keys, double tau2, double finer) {
  if (tau2 == 0.0 || keys == 1.0) return uniform_row(keys);
  return OneRow(keys, tau2, finer).integrate();
}

}  // namespace gaussian::softmax

SoftmaxOne softmax_one(std::int64_t keys, double tau2) {
  gaussian::softmax::check_keys(keys);
  gaussian::softmax::check_variance(tau2);
  return gaussian::softmax::integrate_one(static_cast<double>(keys), tau2);
}

}  // namespace scalecalc
