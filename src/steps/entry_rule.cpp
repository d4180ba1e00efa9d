#include "steps/entry_rule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace scalecalc::steps {
namespace {

constexpr double kLeastEps = 1e-5;  // of the size of an entry

double density(double z) {
  return std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}
double below(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

EntryMoments of_sign(double mean, double deviation) {
  if (deviation == 0) return {mean > 0 ? 1.0 : mean < 0 ? -1.0 : 0.0, 0, mean == 0 ? 0.0 : 1.0};
  const double z = mean / deviation;
  return {std::erf(z / std::numbers::sqrt2), 2 * density(z) / deviation, 1};
}

/// With |G| = eps (e^t - 1) what eps takes away is smooth in t: E f = E sign - I(1),
/// E f' = I(e^-t / eps) and E f^2 = 1 - I(2 - e^-t), I(h) = eps Int h(t) [p(|G|) -+ p(-|G|)] dt.
EntryMoments of_soft_sign(double eps, double mean, double deviation) {
  if (deviation == 0) {
    const double value = mean / (std::fabs(mean) + eps);
    return {value, eps / ((std::fabs(mean) + eps) * (std::fabs(mean) + eps)), value * value};
  }
  constexpr int steps = 100;
  constexpr double tail = 9;
  const double end = std::log1p((std::fabs(mean) + tail * deviation) / eps);
  const double h = end / steps;
  EntryMoments made{of_sign(mean, deviation).mean, 0, 1};
  for (int i = 0; i <= steps; ++i) {
    const double t = h * i, size = eps * std::expm1(t), fall = std::exp(-t);
    const double weight = i == 0 || i == steps ? h / 3 : i % 2 == 1 ? 4 * h / 3 : 2 * h / 3;
    const double above = density((size - mean) / deviation) / deviation;
    const double under = density((size + mean) / deviation) / deviation;
    made.mean -= weight * eps * (above - under);
    made.slope += weight * fall * (above + under);
    made.square -= weight * eps * (2 - fall) * (above + under);
  }
  made.square = std::max(made.square, made.mean * made.mean);
  return made;
}

/// E of G between two bounds, by parts.
EntryMoments of_clamped(double bound, double mean, double deviation) {
  if (deviation == 0) {
    const double value = std::clamp(mean, -bound, bound);
    return {value, std::fabs(mean) < bound ? 1.0 : 0.0, value * value};
  }
  const double low = (-bound - mean) / deviation, high = (bound - mean) / deviation;
  const double inside = below(high) - below(low), first = density(low) - density(high);
  const double second = inside + low * density(low) - high * density(high);
  EntryMoments made;
  made.slope = inside;
  made.mean = bound * (below(-high) - below(low)) + mean * inside + deviation * first;
  made.square = bound * bound * (1 - inside) + mean * mean * inside + 2 * mean * deviation * first +
                deviation * deviation * second;
  return made;
}

}  // namespace

EntryMoments entry_moments(const EntryRule& rule, double mean, double deviation) {
  const double square = mean * mean + deviation * deviation;
  switch (rule.kind) {
    case EntryRule::Kind::sign:
      // Below that share eps changes no average by more than eps ln(deviation/eps), 1e-4 of it.
      return rule.eps > kLeastEps * std::sqrt(square) ? of_soft_sign(rule.eps, mean, deviation)
                                                      : of_sign(mean, deviation);
    case EntryRule::Kind::row_over_rms:
      if (square == 0) return {};
      return {mean / std::sqrt(square), 1 / std::sqrt(square), 1};
    case EntryRule::Kind::itself: break;
  }
  if (rule.bound > 0) return of_clamped(rule.bound, mean, deviation);
  return {mean, 1, square};
}

}  // namespace scalecalc::steps
