#include "activation/zone_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "activation/enclosure.hpp"

namespace scalecalc::activation_room {
namespace {

constexpr int count = static_cast<int>(Zone::terms);
constexpr mpfr_prec_t bits = 320;

/// f ~ x^order at 0, seen in f(2h)/f(h).
std::optional<int> leading_power(const Expr& expr, int side) {
  const double near = value_at(expr, side * 0x1p-60), far = value_at(expr, side * 0x1p-59);
  if (near == 0 || far == 0 || !std::isfinite(far / near) || far / near <= 0) return std::nullopt;
  const double order = std::log2(far / near), whole = std::round(order);
  // A logarithm beside the power shows as a difference of 1/60.
  if (std::fabs(order - whole) > 1e-6 || whole < 0 || whole > 12) return std::nullopt;
  return static_cast<int>(whole);
}

/// f(x)/x^order to the 64 bits of a long double.
std::optional<long double> ratio_at(const Expr& expr, const Real& x, int order) {
  const Interval value = enclose_over(expr, point(x));
  if (value.is_nan() || !value.lower.is_finite()) return std::nullopt;
  Real power(bits);
  mpfr_pow_si(power.get(), x.get(), order, MPFR_RNDN);
  mpfr_div(power.get(), value.lower.get(), power.get(), MPFR_RNDN);
  return mpfr_get_ld(power.get(), MPFR_RNDN);
}

long double node_angle(int j) {
  return std::numbers::pi_v<long double> * static_cast<long double>(2 * j + 1) / (2 * count);
}

/// Sum of weights of the Chebyshev polynomials, in powers.
void to_powers(const long double* weights, double* powers) {
  long double before[count] = {}, current[count] = {1}, next[count], total[count] = {};
  for (int k = 0; k < count; ++k) {
    for (int i = 0; i <= k; ++i) total[i] += weights[k] * current[i];
    for (int i = 0; i < count; ++i) {
      next[i] = (i > 0 ? (k == 0 ? 1 : 2) * current[i - 1] : 0) - (k == 0 ? 0 : before[i]);
    }
    std::copy(current, current + count, before);
    std::copy(next, next + count, current);
  }
  for (int i = 0; i < count; ++i) powers[i] = static_cast<double>(total[i]);
}

}  // namespace

bool fit(const Expr& expr, Zone& zone) {
  if (zone.low == 0 || zone.high == 0) {
    const auto order = leading_power(expr, zone.low == 0 ? 1 : -1);
    if (!order) return false;
    zone.order = *order;
  }
  zone.centre = zone.low + (zone.high - zone.low) / 2;
  const double half_width = (zone.high - zone.low) / 2;
  zone.scale = 1 / half_width;
  long double values[count], weights[count] = {};
  for (int j = 0; j < count; ++j) {
    Real x = real(zone.centre, bits);
    Real step(bits);
    mpfr_set_ld(step.get(), std::cos(node_angle(j)) * half_width, MPFR_RNDN);
    mpfr_add(x.get(), x.get(), step.get(), MPFR_RNDN);
    const auto ratio = ratio_at(expr, x, zone.order);
    if (!ratio || !std::isfinite(*ratio)) return false;
    values[j] = *ratio;
  }
  for (int k = 0; k < count; ++k) {
    for (int j = 0; j < count; ++j) {
      weights[k] += values[j] * std::cos(static_cast<long double>(k) * node_angle(j));
    }
    weights[k] *= (k == 0 ? 1.0L : 2.0L) / count;
  }
  to_powers(weights, zone.coefficients);
  return true;
}

}  // namespace scalecalc::activation_room
