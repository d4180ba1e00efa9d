#include "gaussian/softmax/pair_average.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gaussian/lane_sum.hpp"

namespace scalecalc::gaussian::softmax {
namespace {

namespace vm = base::vector_math;

/// H_j H_k has the Fourier transform e^{-sigma^2 w^2/4 - pi w/2} at least; the step is 2 pi/w where
/// that is e^-28.
double product_step(double sigma) {
  const double half = std::numbers::pi / 2, square = sigma * sigma;
  const double w = 2.0 * 28.0 / (half + std::sqrt(half * half + 28.0 * square));
  return 2.0 * std::numbers::pi / w;
}

/// The integrands vary on the scale of the bumps, or of the largest of n scores.
double integration_step(double sigma, double keys) {
  const double extreme = sigma / (1.0 + std::sqrt(2.0 * std::log(keys)));
  return 0.3 * std::sqrt(1.0 + extreme * extreme);
}

}  // namespace

struct PairAverage::Sums {
  double fall = 0, g11 = 0, g10 = 0, g01 = 0, fall_v = 0, g_v = 0;
};

PairAverage::PairAverage(double fewest, double tau2, double correlation, double finer)
    : mirrored_(correlation < 0.0), weights_(0.0, 1.0) {
  const double shared = std::sqrt(std::abs(correlation) * tau2);
  const double own = std::sqrt((1.0 - std::abs(correlation)) * tau2);
  const double sum = integration_step(std::sqrt(0.5 * (1.0 + correlation) * tau2), fewest) / finer;
  const double difference =
      integration_step(std::sqrt(0.5 * (1.0 - correlation) * tau2), fewest) / finer;
  step_ = std::min(
      {sum, difference, smoothing_step(shared, product_step(own), std::max(1.0, own)) / finer});
  const auto whole = [&](double width) { return static_cast<std::int64_t>(width / step_ + 1e-9); };
  along_ = whole(mirrored_ ? difference : sum);
  fixed_ = whole(mirrored_ ? sum : difference);
  weights_ = GaussianWeights(shared, step_);
  const double wide = 30.0 + kTails * std::sqrt(tau2);
  tabulate(own, finer, wide + (mirrored_ ? kTails * shared : 0.0));
}

void PairAverage::tabulate(double sigma, double finer, double reach) {
  const double lowest = -60.0 - (mirrored_ ? 2.0 * reach : 0.0);
  const SmoothedBumps bumps(sigma, step_, 0.3 / finer, 1, lowest);
  const double tails = kTails * sigma;
  low_ = static_cast<std::int64_t>((-60.0 - tails) / step_) - 1;
  top_ = static_cast<std::int64_t>((kTop + tails) / step_) + 1;
  first_ = static_cast<std::int64_t>((-60.0 - tails - reach) / step_);
  last_ = static_cast<std::int64_t>((kTop + tails + reach) / step_);
  const std::size_t count = static_cast<std::size_t>(last_ - first_ + 1);
  fall_.resize(count);
  bump_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Averages at = bumps.at(first_ + static_cast<std::int64_t>(i));
    fall_[i] = at.fall;
    bump_[i] = at.g[1];
  }
  fall_second_ = fall_;
  bump_second_ = bump_;
  if (!mirrored_) return;
  std::reverse(fall_second_.begin(), fall_second_.end());
  std::reverse(bump_second_.begin(), bump_second_.end());
}

PairAverage::Sums PairAverage::sums(std::int64_t u, std::int64_t v) const {
  constexpr std::int64_t lanes = vm::lanes;
  std::int64_t from = -weights_.reach(), to = weights_.reach();
  if (!mirrored_) {
    from = std::clamp(low_ - std::max(u, v), from, to + 1);
    to = std::clamp(top_ - std::min(u, v), from - 1, to);
  }
  to = from + (to - from + lanes) / lanes * lanes - 1;
  // Mirrored tables run from last_ down, so that both are read upwards.
  const std::int64_t first = u + from - first_;
  const std::int64_t second = mirrored_ ? last_ - (v - from) : v + from - first_;
  const std::int64_t count = to - from + 1, size = static_cast<std::int64_t>(fall_.size());
  if (first < 0 || second < 0 || first + count > size || second + count > size) return {};
  const double* w = weights_.data() + (from + weights_.reach());
  PairAverages sum;
  for (std::int64_t i = 0; i < count; i += lanes) {
    const vm::Real weight = vm::load(w + i);
    const vm::Real fall_u = vm::load(&fall_[static_cast<std::size_t>(first + i)]);
    const vm::Real g_u = vm::load(&bump_[static_cast<std::size_t>(first + i)]);
    const vm::Real fall_v = weight * vm::load(&fall_second_[static_cast<std::size_t>(second + i)]);
    const vm::Real g_v = weight * vm::load(&bump_second_[static_cast<std::size_t>(second + i)]);
    sum.fall += weight * fall_u + (fall_v - fall_v * fall_u);
    sum.g11 += g_u * g_v;
    sum.g10 += g_u * (weight - fall_v);
    sum.g01 += g_v - g_v * fall_u;
    sum.fall_v += fall_v;
    sum.g_v += g_v;
  }
  const double rest = mirrored_ ? 0.0 : weights_.above(to + 1);
  return {lane_sum(sum.fall) + rest, lane_sum(sum.g11),           lane_sum(sum.g10),
          lane_sum(sum.g01),         lane_sum(sum.fall_v) + rest, lane_sum(sum.g_v)};
}

PairAverages PairAverage::at(std::int64_t fixed, std::int64_t along) const {
  PairAverages out;
  for (std::size_t k = 0; k < vm::lanes; ++k) {
    const std::int64_t f = fixed * fixed_, a = (along + static_cast<std::int64_t>(k)) * along_;
    const Sums point = sums(a + f, mirrored_ ? f - a : a - f);
    out.fall[k] = point.fall;
    out.g11[k] = point.g11;
    out.g10[k] = point.g10;
    out.g01[k] = point.g01;
    out.fall_v[k] = point.fall_v;
    out.g_v[k] = point.g_v;
  }
  return out;
}

double PairAverage::fall(std::int64_t fixed, std::int64_t along) const {
  const std::int64_t f = fixed * fixed_, a = along * along_;
  return sums(a + f, mirrored_ ? f - a : a - f).fall;
}

}  // namespace scalecalc::gaussian::softmax
