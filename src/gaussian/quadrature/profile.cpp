#include "gaussian/quadrature/profile.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "gaussian/quadrature/exact.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::gaussian::quadrature {
namespace {

bool is_polynomial(const Expr& expr) {
  switch (expr.kind()) {
    case Expr::Kind::number:
    case Expr::Kind::constant:
    case Expr::Kind::symbol: return true;
    case Expr::Kind::function: return !expr.contains("x");
    case Expr::Kind::power:
      if (!expr.contains("x")) return true;
      return is_polynomial(expr.operands()[0]) && expr.operands()[1].is_number() &&
             expr.operands()[1].number().is_integer() && expr.operands()[1].number().sign() > 0;
    case Expr::Kind::sum:
    case Expr::Kind::product: break;
  }
  return std::all_of(expr.operands().begin(), expr.operands().end(), is_polynomial);
}

/// Where each feature ends: the nearest other scale, for scales come as a centre with a place on
/// each side of it; at most 1.
void set_widths(std::vector<Feature>& features) {
  double last = -infinite;
  for (std::size_t k = 0; k < features.size(); ++k) {
    if (features[k].width == infinite) continue;
    std::size_t next = k + 1;
    while (next < features.size() && features[next].width == infinite) ++next;
    const double above = next < features.size() ? features[next].at - features[k].at : infinite;
    features[k].width = 2 * std::min({1.0, features[k].at - last, above});
    last = features[k].at;
  }
}

std::vector<Feature> features_of(const Activation& activation) {
  constexpr double unknown = 0;
  const std::vector<Expr>& pieces = activation.pieces();
  std::vector<Feature> all;
  if (!std::all_of(pieces.begin(), pieces.end(), is_polynomial)) {
    all.push_back({0, unknown, false});
    for (const double at : activation.scales()) all.push_back({at, unknown, false});
  }
  for (std::size_t k = 0; k < activation.breaks().size(); ++k) {
    const bool is_plain = is_polynomial(pieces[k]) && is_polynomial(pieces[k + 1]);
    all.push_back({activation.breaks()[k].at, is_plain ? infinite : unknown, true});
  }
  std::sort(all.begin(), all.end(), [](const Feature& a, const Feature& b) { return a.at < b.at; });
  std::vector<Feature> features;
  for (const Feature& next : all) {
    if (features.empty() || features.back().at < next.at) {
      features.push_back(next);
      continue;
    }
    features.back().width = std::min(features.back().width, next.width);
    features.back().is_break |= next.is_break;
  }
  set_widths(features);
  return features;
}

/// log|f(x)| at x = +-2^k, -inf for 0.
double log_size(const ExactFunction& f, int side, int k) {
  symbolic::Real x(64), size(64);
  mpfr_set_si_2exp(x.get(), side, k, MPFR_RNDN);
  size = f(x);
  mpfr_abs(size.get(), size.get(), MPFR_RNDN);
  mpfr_log(size.get(), size.get(), MPFR_RNDN);
  return mpfr_get_d(size.get(), MPFR_RNDN);
}

/// By the power p of log|f| ~ x^p, as far out as there are numbers for it.
Growth growth_of(const ExactFunction& f, int side) {
  for (int k = 24; k >= 8; k -= 4) {
    const double far = log_size(f, side, k), near = log_size(f, side, k - 4);
    if (far < 300 || far == -infinite) return Growth::polynomial;
    if (!std::isfinite(far)) continue;
    const double power = near > 0 ? std::log2(far / near) / 4 : 2.0;
    if (power > 2.03) return Growth::above_gaussian;
    return power < 1.97 ? Growth::below_gaussian : Growth::gaussian;
  }
  return Growth::above_gaussian;
}

bool is_moderate(const Activation& activation, int side) {
  const double x[] = {side * 1e4, side * 1e8, side * 1e16};
  double y[3], dy[3];
  activation.evaluate(x, y, dy, 3);
  for (int k = 0; k < 3; ++k) {
    if (!(std::fabs(y[k]) < 1e120 && std::fabs(dy[k]) < 1e120)) return false;
  }
  return true;
}

Growth growth_on(const Activation& activation, int side) {
  if (is_moderate(activation, side)) return Growth::polynomial;
  using Which = ExactFunction::Which;
  const symbolic::WideExponents wide;
  return std::max(growth_of(ExactFunction(activation, Which::value, 64), side),
                  growth_of(ExactFunction(activation, Which::slope, 64), side));
}

/// p in |f| ~ d^-p at a distance d from a break.
double pole_order(const ExactFunction& f, std::size_t at, int side) {
  const auto log2_size = [&](int power) {
    symbolic::Real x(256), away(256);
    mpfr_set_si_2exp(away.get(), side, -power, MPFR_RNDN);
    mpfr_add(x.get(), f.breaks()[at].get(), away.get(), MPFR_RNDN);
    x = f(x);
    return x.sign() == 0 ? -infinite : static_cast<double>(mpfr_get_exp(x.get()));
  };
  const double far = log2_size(60), near = log2_size(120);
  return std::isfinite(far) && std::isfinite(near) ? (near - far) / 60 : 0.0;
}

/// The largest pole order of phi or phi' at a break; most are seen to be none from doubles.
double largest_pole(const Activation& activation, ExactFunction::Which which) {
  double order = 0;
  for (std::size_t k = 0; k < activation.breaks().size(); ++k) {
    const double b = activation.breaks()[k].at, unit = std::max(1.0, std::fabs(b));
    for (const int side : {-1, 1}) {
      const double x[] = {b + side * unit * 0x1p-30, b + side * unit * 0x1p-20};
      double y[2], dy[2];
      activation.evaluate(x, y, dy, 2);
      const double* f = which == ExactFunction::Which::value ? y : dy;
      if (std::fabs(f[0]) <= 4 * std::fabs(f[1])) continue;
      order = std::max(order, pole_order(ExactFunction(activation, which, 256), k, side));
    }
  }
  return order;
}

Profile make(const Activation& activation) {
  using Which = ExactFunction::Which;
  Profile profile{activation,
                  features_of(activation),
                  {},
                  largest_pole(activation, Which::value),
                  largest_pole(activation, Which::slope)};
  for (std::size_t side = 0; side < 2; ++side) {
    profile.growth[side] = growth_on(activation, side == 0 ? -1 : 1);
  }
  return profile;
}

}  // namespace

const Profile& profile_of(const Activation& activation) {
  // The activation kept inside holds on to its address, so that the address names it.
  constexpr std::size_t most = 16;
  thread_local std::vector<std::unique_ptr<const Profile>> kept;
  thread_local std::size_t oldest = 0;
  for (const auto& profile : kept) {
    if (&profile->activation.impl() == &activation.impl()) return *profile;
  }
  auto made = std::make_unique<const Profile>(make(activation));
  if (kept.size() < most) return *kept.emplace_back(std::move(made));
  oldest = (oldest + 1) % most;
  kept[oldest] = std::move(made);
  return *kept[oldest];
}

}  // namespace scalecalc::gaussian::quadrature
