#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include <fmt/format.h>

#include "gaussian/softmax/chebyshev.hpp"
#include "gaussian/softmax/check.hpp"
#include "gaussian/softmax/one.hpp"
#include "gaussian/softmax/pair.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace softmax {
namespace {

/// Panels in tau2. Within one, the logarithms of all four quantities are smooth in ln(1 + tau2) and
/// in the logarithm of 1 + kappa (1 - c): near c = 1 they vary on the scale 1/tau2.
constexpr std::array<double, 10> kEdges = {0.0,  0.5,  1.5,   4.0,   10.0,
                                           25.0, 60.0, 150.0, 400.0, 1000.0};
/// Numbers of nodes in c that reach the target in each panel.
constexpr std::array<std::size_t, 9> kColumns = {6, 9, 11, 14, 17, 21, 24, 28, 32};
constexpr double kTarget = 1e-6;
/// The integrals are this much coarser than softmax_pair's: their error stays below 1e-8.
constexpr double kCoarse = 0.8;
constexpr std::size_t kCurveNodes = 14;
/// Correlations and variances that miss the range by rounding.
constexpr double kRounding = 1e-9;

struct Scale {
  double from, to;  ///< of ln(1 + tau2)
  double kappa, reach;

  double tau2(double x) const { return std::expm1(from + 0.5 * (to - from) * (x + 1.0)); }
  double x(double tau2) const { return 2.0 * (std::log1p(tau2) - from) / (to - from) - 1.0; }
  double correlation(double y) const { return 1.0 - std::expm1(0.5 * reach * (y + 1.0)) / kappa; }
  double y(double correlation) const {
    return 2.0 * std::log1p(kappa * (1.0 - correlation)) / reach - 1.0;
  }
};

class Panel {
 public:
  Panel(double keys, double from, double to, double c_min, std::size_t columns)
      : keys_(keys),
        columns_(columns),
        rows_(keys > 3e4     ? 11
              : keys > 300.0 ? 9
                             : 7) {
    scale_.from = std::log1p(from);
    scale_.to = std::log1p(to);
    scale_.kappa = 0.6 * to;
    scale_.reach = std::log1p(scale_.kappa * (1.0 - c_min));
  }

  double p2(double tau2) const { return std::exp(p2_(scale_.x(tau2))); }
  double a(double tau2) const { return std::exp(a_(scale_.x(tau2))); }
  double overlap(double tau2, double c) const {
    return std::exp(overlap_(scale_.x(tau2), scale_.y(c)));
  }
  double a_prime(double tau2, double c) const {
    return std::exp(a_prime_(scale_.x(tau2), scale_.y(c)));
  }
  double error() const { return error_; }

  void build();

 private:
  void fit_curves();
  void fit_surfaces();
  double measure() const;

  double keys_;
  std::size_t columns_, rows_;
  Scale scale_{};
  ChebyshevSurface p2_, a_, overlap_, a_prime_;
  double error_ = 0;
};

void Panel::fit_curves() {
  std::vector<double> p2, a;
  for (std::size_t k = 0; k < kCurveNodes; ++k) {
    const SoftmaxOne one = integrate_one(keys_, scale_.tau2(chebyshev_node(k, kCurveNodes)));
    p2.push_back(std::log(one.p2.value));
    a.push_back(std::log(one.a.value));
  }
  p2_ = ChebyshevSurface(kCurveNodes, 1, p2);
  a_ = ChebyshevSurface(kCurveNodes, 1, a);
}

void Panel::fit_surfaces() {
  std::vector<double> overlap, a_prime;
  for (std::size_t i = 0; i < rows_; ++i) {
    for (std::size_t j = 0; j < columns_; ++j) {
      const SoftmaxPair pair =
          integrate_pair(keys_, keys_, scale_.tau2(chebyshev_node(i, rows_)),
                         scale_.correlation(chebyshev_node(j, columns_)), kCoarse);
      overlap.push_back(std::log(pair.overlap.value));
      a_prime.push_back(std::log(pair.a_prime.value));
    }
  }
  overlap_ = ChebyshevSurface(rows_, columns_, overlap);
  a_prime_ = ChebyshevSurface(rows_, columns_, a_prime);
}

/// At points where the neglected polynomials T_rows(x), T_columns(y) are largest.
double Panel::measure() const {
  double worst = 0;
  const auto note = [&](double value, double exact) {
    worst = std::max(worst, std::abs(value / exact - 1.0));
  };
  for (const double x : {-0.999, -0.9, 0.0, 0.999}) {
    const SoftmaxOne one = integrate_one(keys_, scale_.tau2(x));
    note(p2(scale_.tau2(x)), one.p2.value);
    note(a(scale_.tau2(x)), one.a.value);
  }
  const auto extremum = [](std::size_t k, std::size_t count) {
    return std::cos(std::numbers::pi * static_cast<double>(k) / static_cast<double>(count));
  };
  for (std::size_t k = 0; k < 6; ++k) {
    const double tau2 = scale_.tau2(0.999 * extremum(k * rows_ / 5, rows_));
    const double c = scale_.correlation(extremum((5 - k) * columns_ / 5, columns_));
    const SoftmaxPair pair = integrate_pair(keys_, keys_, tau2, c, kCoarse);
    note(overlap(tau2, c), pair.overlap.value);
    note(a_prime(tau2, c), pair.a_prime.value);
  }
  return worst;
}

void Panel::build() {
  fit_curves();
  for (int attempt = 0; attempt < 4; ++attempt) {
    fit_surfaces();
    error_ = measure();
    if (error_ < 0.5 * kTarget) return;
    rows_ += 2;
    columns_ += 4;
  }
}

}  // namespace
}  // namespace softmax

/// Panels are built when first asked for: a network visits few of them.
struct SoftmaxTable::Impl {
  struct Slot {
    std::once_flag once;
    std::unique_ptr<softmax::Panel> panel;
  };

  double keys, tau2_max, c_min;
  mutable std::array<Slot, softmax::kColumns.size()> slots;

  const softmax::Panel& panel(double& tau2) const {
    if (!(tau2 >= 0.0 && tau2 <= tau2_max * (1.0 + softmax::kRounding))) {
      throw Error(ErrorKind::input, fmt::format("score variance {}", tau2), "softmax table",
                  fmt::format("the table was made for 0 to {}", tau2_max));
    }
    tau2 = std::min(tau2, tau2_max);
    std::size_t k = 0;
    while (k + 2 < softmax::kEdges.size() && tau2 > softmax::kEdges[k + 1]) ++k;
    return built(k);
  }

  const softmax::Panel& built(std::size_t k) const {
    Slot& slot = slots[k];
    std::call_once(slot.once, [&] {
      const double to = std::min(softmax::kEdges[k + 1], tau2_max);
      slot.panel = std::make_unique<softmax::Panel>(keys, softmax::kEdges[k], to, c_min,
                                                    softmax::kColumns[k]);
      slot.panel->build();
    });
    return *slot.panel;
  }

  double correlation(double c) const {
    if (c >= c_min - softmax::kRounding && c <= 1.0 + softmax::kRounding) {
      return std::clamp(c, c_min, 1.0);
    }
    throw Error(ErrorKind::input, fmt::format("correlation {}", c), "softmax table",
                fmt::format("the table was made for {} to 1", c_min));
  }
};

SoftmaxTable::SoftmaxTable(std::int64_t keys, double tau2_max, double c_min) {
  softmax::check_keys(keys);
  softmax::check_variance(tau2_max);
  softmax::check_correlation(c_min);
  auto impl = std::make_shared<Impl>();
  impl->keys = static_cast<double>(keys);
  impl->tau2_max = tau2_max;
  impl->c_min = std::min(c_min, 0.999);
  impl_ = impl;
}

double SoftmaxTable::p2(double tau2) const {
  if (tau2 == 0.0 || impl_->keys == 1.0) return 1.0 / impl_->keys;
  const softmax::Panel& panel = impl_->panel(tau2);
  return panel.p2(tau2);
}

double SoftmaxTable::a(double tau2) const {
  const double keys = impl_->keys;
  if (tau2 == 0.0 || keys == 1.0) return (1.0 - 1.0 / keys) / keys;
  const softmax::Panel& panel = impl_->panel(tau2);
  return panel.a(tau2);
}

double SoftmaxTable::overlap(double tau2, double correlation) const {
  const double c = impl_->correlation(correlation);
  if (tau2 == 0.0 || impl_->keys == 1.0) return 1.0 / impl_->keys;
  const softmax::Panel& panel = impl_->panel(tau2);
  return panel.overlap(tau2, c);
}

double SoftmaxTable::a_prime(double tau2, double correlation) const {
  const double c = impl_->correlation(correlation), keys = impl_->keys;
  if (tau2 == 0.0 || keys == 1.0) return (1.0 - 1.0 / keys) / keys;
  const softmax::Panel& panel = impl_->panel(tau2);
  return panel.a_prime(tau2, c);
}

double SoftmaxTable::measured_error() const {
  if (impl_->keys == 1.0 || impl_->tau2_max == 0.0) return 0.0;
  double worst = 0;
  for (std::size_t k = 0; k < softmax::kColumns.size(); ++k) {
    if (softmax::kEdges[k] < impl_->tau2_max) worst = std::max(worst, impl_->built(k).error());
  }
  return worst;
}

}  // namespace scalecalc
