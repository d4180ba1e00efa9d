#include "gaussian/softmax/smoothing.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/vector_math.hpp"
#include "gaussian/lane_sum.hpp"

namespace scalecalc::gaussian::softmax {
namespace {

namespace vm = base::vector_math;

/// Below this sigma/step, the sampled Gaussian aliases and the stencil takes over.
constexpr double kSampled = 1.25;
constexpr int kStencilReach = 10;

std::size_t round_up(std::size_t count) {
  return (count + vm::lanes - 1) / vm::lanes * vm::lanes;
}

/// Power series of exp(-s^2 theta^2/2) in y = 4 sin^2(theta/2), where
/// theta^2 = sum_{n>=1} 2 (n-1)!^2/(2n)! y^n (the square of 2 arcsin(sqrt(y)/2)).
std::array<double, kStencilReach + 1> difference_series(double s) {
  std::array<double, kStencilReach + 1> exponent{}, series{};
  double term = 1.0;
  for (int n = 1; n <= kStencilReach; ++n) {
    exponent[n] = -0.5 * s * s * term;
    term *= static_cast<double>(n) * n / ((2.0 * n + 1.0) * (2.0 * n + 2.0));
  }
  series[0] = 1.0;
  for (int n = 1; n <= kStencilReach; ++n) {
    for (int k = 1; k <= n; ++k) series[n] += k * exponent[k] * series[n - k] / n;
  }
  return series;
}

/// The stencil that is exact for polynomials of degree 2 kStencilReach + 1. y^n is the multiplier
/// of (-1)^n times the 2n-th central difference, whose weights are binomials.
std::vector<double> stencil(double s) {
  const auto series = difference_series(s);
  std::vector<double> weights(2 * kStencilReach + 1, 0.0);
  for (int n = 0; n <= kStencilReach; ++n) {
    double binomial = 1.0;
    for (int j = 0; j <= 2 * n; ++j) {
      const double sign = (j - n) % 2 == 0 ? 1.0 : -1.0;
      weights[kStencilReach + j - n] += sign * binomial * series[n];
      binomial *= (2.0 * n - j) / (j + 1.0);
    }
  }
  return weights;
}

std::vector<double> sampled_gaussian(double s) {
  const int reach = static_cast<int>(std::ceil(kTails * s));
  std::vector<double> weights(2 * reach + 1);
  for (int m = -reach; m <= reach; ++m) {
    weights[m + reach] = std::exp(-0.5 * (m / s) * (m / s)) / (s * std::sqrt(2 * std::numbers::pi));
  }
  return weights;
}

double dot(const double* a, const double* b, std::size_t count) {
  vm::Real sums{};
  std::size_t i = 0;
  for (; i + vm::lanes <= count; i += vm::lanes) sums += vm::load(a + i) * vm::load(b + i);
  double rest = 0;
  for (; i < count; ++i) rest += a[i] * b[i];
  return rest + lane_sum(sums);
}

}  // namespace

GaussianWeights::GaussianWeights(double sigma, double step) {
  const double s = sigma / step;
  weights_ = sigma == 0.0   ? std::vector<double>{1.0}
             : s < kSampled ? stencil(s)
                            : sampled_gaussian(s);
  reach_ = static_cast<int>(weights_.size() / 2);
  above_.resize(weights_.size() + 1);
  for (std::size_t i = weights_.size(); i-- > 0;) above_[i] = above_[i + 1] + weights_[i];
  weights_.resize(round_up(weights_.size()) + vm::lanes);
}

double GaussianWeights::above(std::int64_t m) const {
  const std::int64_t end = 2 * reach_ + 1;
  return above_[static_cast<std::size_t>(std::clamp<std::int64_t>(m + reach_, 0, end))];
}

double smoothing_step(double sigma, double widest, double smooth) {
  if (sigma == 0.0) return widest;
  const double sampled = 0.7 * sigma, differenced = 0.08 * smooth;
  return std::min(widest, std::max(sampled, differenced));
}

SmoothedBumps::SmoothedBumps(double sigma, double step, double widest, int highest, double lowest)
    : ratio_(static_cast<int>(std::ceil(step / smoothing_step(sigma, widest, 1.0) - 1e-9))),
      highest_(highest),
      inner_(step / ratio_),
      weights_(sigma, inner_),
      first_(static_cast<std::int64_t>(std::floor(lowest / inner_))),
      last_(static_cast<std::int64_t>(std::ceil(kTop / inner_))) {
  sample();
}

void SmoothedBumps::sample() {
  const std::size_t count = static_cast<std::size_t>(last_ - first_ + 1);
  for (int k = 0; k <= highest_; ++k) g_[k].assign(round_up(count) + vm::lanes, 0.0);
  std::vector<double> w(round_up(count));
  for (std::size_t i = 0; i < w.size(); ++i) {
    w[i] = static_cast<double>(first_ + static_cast<std::int64_t>(i)) * inner_;
  }
  for (std::size_t i = 0; i < w.size(); i += vm::lanes) {
    const vm::Real t = vm::exp(vm::load(&w[i]));
    const vm::Real below = vm::expm1(-t);
    vm::store(-below, &g_[0][i]);
    vm::Real power = below + 1.0;
    for (int k = 1; k <= highest_; ++k) {
      power *= t;
      vm::store(power, &g_[k][i]);
    }
  }
  for (int k = 0; k <= highest_; ++k)
    std::fill(g_[k].begin() + static_cast<std::ptrdiff_t>(count), g_[k].end(), 0.0);
}

Averages SmoothedBumps::at(std::int64_t n) const {
  const std::int64_t centre = n * ratio_;
  const std::int64_t from = std::max(first_, centre - weights_.reach());
  const std::int64_t to = std::min(last_, centre + weights_.reach());
  Averages out;
  if (to >= from) {
    const double* w = weights_.data() + (from - centre + weights_.reach());
    const std::size_t at = static_cast<std::size_t>(from - first_);
    const std::size_t count = static_cast<std::size_t>(to - from + 1);
    for (int k = 0; k <= highest_; ++k) {
      out.g[k] = dot(w, &g_[k][at], count);
    }
  }
  out.fall = out.g[0] + weights_.above(last_ + 1 - centre);
  return out;
}

}  // namespace scalecalc::gaussian::softmax
