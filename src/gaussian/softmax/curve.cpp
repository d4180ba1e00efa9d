#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "base/vector_math.hpp"
#include "gaussian/softmax/averages.hpp"
#include "gaussian/softmax/check.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace gaussian::softmax {
namespace {

namespace vm = base::vector_math;

constexpr std::size_t kCount = sizeof(SoftmaxAverages) / sizeof(double);
constexpr std::size_t kVectors = (kCount + vm::lanes - 1) / vm::lanes;
constexpr std::size_t kPadded = kVectors * vm::lanes;
using Values = std::array<double, kCount>;

constexpr double kTarget = 1e-6;
constexpr std::array<std::size_t, 4> kNodes = {11, 19, 33, 57};
/// Correlations that miss the range by rounding.
constexpr double kRounding = 1e-9;

Values values_of(const SoftmaxAverages& averages) {
  return std::bit_cast<Values>(averages);
}

/// What an error of each value is measured against: itself, or, where it may vanish, P2 or A over
/// the power of tau2 that goes with it.
Values scales_of(const SoftmaxAverages& at, double tau2) {
  SoftmaxAverages scale = at;
  SoftmaxOrders& one = scale.one;
  const double unit = 1.0 + tau2;
  one.p2_slope = one.p2 / unit;
  one.p2_curvature = one.p2 / (unit * unit);
  one.a_slope = one.a / unit;
  one.a_curvature = one.a / (unit * unit);
  one.hp2 = one.ha = one.q1 = one.q2 = one.jp = one.p2;
  scale.two.a_second = scale.two.a_third = unit * scale.two.a_prime;
  one.error = scale.two.error = std::numeric_limits<double>::infinity();
  return values_of(scale);
}

}  // namespace
}  // namespace gaussian::softmax

/// Chebyshev series in x, linear in ln(1 + kappa (1 - c)): near c = 1 the averages vary on the
/// scale on which tau2 = ratio (1 - c) grows to 1.
struct SoftmaxCurve::Impl {
  double keys = 0, base = 0, ratio = 0, c_min = 0, kappa = 0, reach = 0;
  double error = 0;
  std::vector<double> coefficients;  ///< rows of kPadded

  double correlation(double x) const { return 1.0 - std::expm1(0.5 * reach * (x + 1.0)) / kappa; }
  double place(double c) const { return 2.0 * std::log1p(kappa * (1.0 - c)) / reach - 1.0; }
  double tau2(double c) const { return base + ratio * (1.0 - c); }
  SoftmaxAverages exact(double c) const { return gaussian::softmax::averages(keys, tau2(c), c); }
  SoftmaxAverages interpolate(double c) const;
  void fit(std::size_t nodes);
  double measure(std::size_t nodes) const;
  void build();
};

SoftmaxAverages SoftmaxCurve::Impl::interpolate(double c) const {
  namespace vm = base::vector_math;
  std::array<vm::Real, gaussian::softmax::kVectors> sums{};
  const double x = place(c);
  double last = x, basis = 1.0;
  for (std::size_t row = 0; row < coefficients.size(); row += gaussian::softmax::kPadded) {
    for (std::size_t k = 0; k < gaussian::softmax::kVectors; ++k) {
      sums[k] += basis * vm::load(&coefficients[row + k * vm::lanes]);
    }
    const double next = 2.0 * x * basis - last;
    last = basis;
    basis = next;
  }
  std::array<double, gaussian::softmax::kPadded> padded;
  for (std::size_t k = 0; k < gaussian::softmax::kVectors; ++k)
    vm::store(sums[k], &padded[k * vm::lanes]);
  gaussian::softmax::Values values;
  std::copy_n(padded.begin(), values.size(), values.begin());
  return std::bit_cast<SoftmaxAverages>(values);
}

/// At the zeros of T_nodes, by the discrete orthogonality of the T_k.
void SoftmaxCurve::Impl::fit(std::size_t nodes) {
  coefficients.assign(nodes * gaussian::softmax::kPadded, 0.0);
  const double n = static_cast<double>(nodes);
  for (std::size_t j = 0; j < nodes; ++j) {
    const double angle = std::numbers::pi * (static_cast<double>(j) + 0.5) / n;
    const gaussian::softmax::Values values =
        gaussian::softmax::values_of(exact(correlation(std::cos(angle))));
    for (std::size_t k = 0; k < nodes; ++k) {
      const double weight = (k == 0 ? 1.0 : 2.0) / n * std::cos(static_cast<double>(k) * angle);
      for (std::size_t i = 0; i < values.size(); ++i) {
        coefficients[k * gaussian::softmax::kPadded + i] += weight * values[i];
      }
    }
  }
}

/// At extrema of T_nodes, where the first polynomial left out is largest.
double SoftmaxCurve::Impl::measure(std::size_t nodes) const {
  double worst = 0;
  for (const std::size_t k : {std::size_t{0}, nodes / 3, 2 * nodes / 3, nodes}) {
    const double angle = std::numbers::pi * static_cast<double>(k) / static_cast<double>(nodes);
    const double c = std::clamp(correlation(std::cos(angle)), c_min, 1.0);
    const SoftmaxAverages here = exact(c);
    const gaussian::softmax::Values expected = gaussian::softmax::values_of(here);
    const gaussian::softmax::Values found = gaussian::softmax::values_of(interpolate(c));
    const gaussian::softmax::Values scale = gaussian::softmax::scales_of(here, tau2(c));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (scale[i] == 0.0) continue;
      worst = std::max(worst, std::abs((found[i] - expected[i]) / scale[i]));
    }
    worst = std::max(worst, here.two.error);
  }
  return worst;
}

void SoftmaxCurve::Impl::build() {
  kappa = 0.5 + 0.3 * (base + ratio);
  reach = std::log1p(kappa * (1.0 - c_min));
  double before = std::numeric_limits<double>::infinity();
  for (const std::size_t nodes : gaussian::softmax::kNodes) {
    fit(nodes);
    error = measure(nodes);
    if (error < gaussian::softmax::kTarget || error > 0.5 * before) return;
    before = error;
  }
}

SoftmaxCurve::SoftmaxCurve(std::int64_t keys, double base, double ratio, double c_min) {
  gaussian::softmax::check_keys(keys);
  gaussian::softmax::check_correlation(c_min);
  gaussian::softmax::check_variance(base);
  gaussian::softmax::check_variance(base + ratio * (1.0 - c_min));
  auto impl = std::make_shared<Impl>();
  impl->keys = static_cast<double>(keys);
  impl->base = base;
  impl->ratio = ratio;
  impl->c_min = std::min(c_min, 0.999);
  impl->build();
  impl_ = impl;
}

double SoftmaxCurve::measured_error() const {
  return impl_->error;
}
bool SoftmaxCurve::covers(double correlation) const {
  return correlation >= impl_->c_min - gaussian::softmax::kRounding &&
         correlation <= 1.0 + gaussian::softmax::kRounding;
}

SoftmaxAverages SoftmaxCurve::operator()(double correlation) const {
  if (covers(correlation)) {
    SoftmaxAverages out = impl_->interpolate(std::clamp(correlation, impl_->c_min, 1.0));
    out.two.error = impl_->error;
    return out;
  }
  throw Error(ErrorKind::input, fmt::format("correlation {}", correlation), "softmax curve",
              fmt::format("the curve was made for {} to 1", impl_->c_min));
}

}  // namespace scalecalc
