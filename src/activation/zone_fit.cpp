#include "activation/zone_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "activation/enclosure.hpp"

namespace scalecalc::activation_room {
namespace {

constexpr int count = static_cast<int>(Zone::terms);
constexpr mpfr_prec_t least_bits = 256, most_bits = 2048;

/// f ~ x^order at 0, seen in f(2h)/f(h).
std::optional<int> leading_power(const Expr& expr, int side) {
  const double near = value_at(expr, side * 0x1p-60), far = value_at(expr, side * 0x1p-59);
  if (near == 0 || far == 0 || !std::isfinite(far / near) || far / near <= 0) return std::nullopt;
  const double order = std::log2(far / near), whole = std::round(order);
  // A logarithm beside the power shows as a difference of 1/60.
  if (std::fabs(order - whole) > 1e-6 || whole < 0 || whole > 12) return std::nullopt;
  return static_cast<int>(whole);
}

/// f(x) to 64 bits and more; nothing where that is not to be had.
std::optional<Real> settled_value(const Expr& expr, const Real& x) {
  constexpr mpfr_exp_t wanted = 80;
  for (mpfr_prec_t bits = least_bits; bits <= most_bits; bits *= 2) {
    Real at(bits), width(bits);
    mpfr_set(at.get(), x.get(), MPFR_RNDN);
    const Interval value = enclose_over(expr, point(at));
    if (value.is_nan() || !value.lower.is_finite() || !value.upper.is_finite()) continue;
    mpfr_sub(width.get(), value.upper.get(), value.lower.get(), MPFR_RNDU);
    if (width.sign() == 0) return value.lower;
    if (value.lower.sign() == 0) continue;
    if (mpfr_get_exp(width.get()) + wanted < mpfr_get_exp(value.lower.get())) return value.lower;
  }
  return std::nullopt;
}

/// f(x)/x^order, or log |f(x)|, to the 64 bits of a long double.
std::optional<long double> sample(const Expr& expr, const Real& x, const Zone& zone) {
  std::optional<Real> value = settled_value(expr, x);
  if (!value) return std::nullopt;
  if (zone.exponential != 0) {
    if (value->sign() != zone.exponential) return std::nullopt;
    mpfr_abs(value->get(), value->get(), MPFR_RNDN);
    mpfr_log(value->get(), value->get(), MPFR_RNDN);
    return mpfr_get_ld(value->get(), MPFR_RNDN);
  }
  Real power(least_bits);
  mpfr_pow_si(power.get(), x.get(), zone.order, MPFR_RNDN);
  mpfr_div(power.get(), value->get(), power.get(), MPFR_RNDN);
  return mpfr_get_ld(power.get(), MPFR_RNDN);
}

/// The sign of f where it changes by more than 2^10 over the zone, as exponential tails do.
int exponential_sign(const Expr& expr, const Zone& zone) {
  const double left = value_at(expr, zone.low), right = value_at(expr, zone.high);
  const double ratio = std::fabs(left / right);
  if ((left < 0 && right > 0) || (left > 0 && right < 0)) return 0;
  if (!(ratio > 0x1p10 || ratio < 0x1p-10)) return 0;
  return left + right > 0 ? 1 : -1;
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
  } else {
    zone.exponential = exponential_sign(expr, zone);
  }
  zone.centre = zone.low + (zone.high - zone.low) / 2;
  const double half_width = (zone.high - zone.low) / 2;
  zone.scale = 1 / half_width;
  long double values[count], weights[count] = {};
  for (int j = 0; j < count; ++j) {
    Real x = real(zone.centre, least_bits);
    Real step(least_bits);
    mpfr_set_ld(step.get(), std::cos(node_angle(j)) * half_width, MPFR_RNDN);
    mpfr_add(x.get(), x.get(), step.get(), MPFR_RNDN);
    const auto ratio = sample(expr, x, zone);
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
