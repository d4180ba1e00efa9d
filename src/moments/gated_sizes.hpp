#pragma once

#include <algorithm>
#include <cmath>

#include "moments/calculus.hpp"
#include "moments/norm_variance.hpp"

/// Sizes of tokens at a gated unit y = phi(u) w, which both factors have in common
/// (docs/theory/finite-width.md#gated).
namespace scalecalc::moments {

/// Sizes of tokens that no norm has made one are lognormal, and a gradient y at u or w goes as
/// their power e; past one unit of its logarithm it is left to the stated error.
inline double sizes_of_own(const NormVariance& u, double noise, double width, double e) {
  if (u.log_range > 0) return 1;
  const double common = std::max(0.0, u.token_variance - noise / width);
  return std::exp(std::min(1.0, e * (e - 1) / 2 * common));
}

/// Of the size S of a unit's input, y = phi(u) w going as S^e, the powers that squared gradients at
/// u and w go as: of a gradient along y, and of the rest of it. All have S^(e - 1) of phi^2 or of
/// phi'^2 w^2.
struct GatePowers {
  double along = 0, rest = 0;
};
/// `second`: E y^2.
template <class G>
GatePowers gate_powers(const G& above, double e, double second) {
  const double g = average(above.x).second, a = above.aligned;
  const bool is_own = !above.along_mean && a * a * second > 0 && g > 0;
  return {e - 1 + (is_own ? e : 0), e - 1 + e * above.size_exponent};
}

/// E S^(p + 1)/(E S^p E S) less 1 of a gradient that goes as S^p, averaged over a share `along` and
/// the rest of it.
inline double beside_sizes(const GatePowers& powers, double along, double variance) {
  const auto at = [&](double p) {
    return std::fabs(std::expm1(std::min(largest_log, p * variance)));
  };
  return along * at(powers.along) + (1 - along) * at(powers.rest);
}

/// ln of E S f(S) over f(1) of sizes S of this logarithm, f = E phi^2 at S times the variance that
/// `second` is at, and E w^2 going as S; e: d ln S f/d ln S at 1, by which sizes far up count.
template <class Sizes>
double log_mean_over(const Sizes& second, const LogSize& size, double e) {
  constexpr double step = 0.25, beyond = 6;
  const double deviation = std::sqrt(std::max(0.0, size.variance));
  const double reach = beyond + std::min(e * deviation, 2 * largest_log);
  double all = 0, sum = 0;
  for (double t = -reach; t <= reach; t += step) {
    const double weight = std::exp(-t * t / 2);
    if (!(weight > 0)) continue;
    const double scale = std::exp(std::clamp(size.mean + deviation * t, -largest_log, largest_log));
    all += weight;
    sum += weight * scale * second(scale);
  }
  const double mean = std::log(sum / all / second(1));
  return std::isfinite(mean) ? mean : largest_log;
}

/// m' = f m_w and r' = K r_w, of f = E phi^2 and K: D' = (f - K) m_w + K D_w.
template <class T>
RelativeError error_through_gate(const RelativeError& of, const Alike<double>& u,
                                 const Alike<double>& w, const Alike<T>& kernel,
                                 const Alike<T>& slope, const WidthMoments& moments) {
  const double e = moments.exponent;
  RelativeError made{(1 + e) * of.second, (1 + e) * of.cross};
  const double apart = u.second - u.cross, f = kernel.second, k = kernel.cross;
  if (!(f > 0) || !(apart > 0) || !(w.second > 0)) return made;
  const double reach = std::min(1.0, of.apart() * u.second / apart);
  const double by_r =
      (std::fabs(slope.cross) + reach * std::fabs(slope.second - slope.cross)) * u.second / f;
  const double of_phi =
                   by_r * of.apart() + std::fabs(e * (f - k) - slope.cross * apart) / f * of.second,
               of_w = std::fabs(w.second - w.cross) / w.second;
  const double unknown = of_phi + std::fabs(f - k) / f * of.second + std::fabs(k) / f * of.apart() +
                         of_w * (std::fabs(e) * of.second + of_phi);
  made.cross = std::min<double>(made.cross, made.second + unknown);
  made.know_apart(unknown);
  return made;
}

/// How far y = phi(u) w of a draw may be from infinite width. Where draws part ways E S f(S) of the
/// common input's size S is by few of them, and may be as far from infinite width as a lognormal's
/// is (docs/theory/finite-width.md#gated): of a gate that saturates not far.
template <class C, class X>
void gate_sizes(C& calculus, const typename C::Function& phi, const WidthMoments& moments,
                const Signal<X>& gate, Signal<X>& out) {
  const auto width = static_cast<double>(gate.width);
  const LogSize size = log_size(gate.spread, width);
  const double e = 1 + moments.exponent;
  const bool apart = gate.spread.log_range > 0;
  if (!apart && !leaves_lognormal(size.variance, e)) {
    calculus.omit(0, omitted_of_cross(size.variance, e));
    return;
  }
  const Alike<double> u = values_of(calculus, gate.x);
  const auto second = [&](double scale) {
    return calculus.sizes(phi, u.mean, (u.second - u.mean * u.mean) * scale).second;
  };
  const double far = apart ? e * gate.spread.log_range : log_mean_over(second, size, e);
  out.spread = beyond_lognormal(gate.spread, std::clamp(far, 0.0, largest_log),
                                3 * moments.kurtosis / width);
  add_range(out.truncation, out.spread.log_range);
  calculus.assume("gated unit", "draws of this width part ways: some die, some grow",
                  "variance of ln E x^2 where its map is steeper than 1", size.variance,
                  most_lognormal);
}

}  // namespace scalecalc::moments
