#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "symbolic/arithmetic.hpp"
#include "symbolic/bivariate_normal.hpp"

namespace scalecalc::symbolic::arithmetic {
namespace {

/// Extra bits that swallow the rounding of some hundred thousand operations.
constexpr mpfr_prec_t guard_bits = 48;
constexpr double log_2 = 0.6931471805599453;

Interval around(const Real& value, mpfr_prec_t bits) {
  // The relative error is below 2^-(bits + 4).
  Interval result(bits);
  Real margin(bits + guard_bits);
  mpfr_abs(margin.get(), value.get(), MPFR_RNDU);
  mpfr_div_2ui(margin.get(), margin.get(), static_cast<unsigned long>(bits + 4), MPFR_RNDU);
  mpfr_sub(result.lower.get(), value.get(), margin.get(), MPFR_RNDD);
  mpfr_add(result.upper.get(), value.get(), margin.get(), MPFR_RNDU);
  return result;
}

/// M_n = int_0^x t^(2n) exp(-H t^2) dt for n = 0 .. count - 1. The last by its positive series,
/// x^(2n+1) exp(-H x^2)/(2n+1) sum over m of (2 H x^2)^m/((2n+3) ... (2n+2m+1)), the others
/// downward by M_n = (2 H M_(n+1) + x^(2n+1) exp(-H x^2))/(2n+1), which adds positive numbers only.
std::vector<Real> moments(const Real& h, const Real& x, unsigned long count) {
  const mpfr_prec_t bits = h.bits();
  std::vector<Real> result(count, Real(bits));
  Real square(bits), twice(bits), ratio(bits), edge(bits), term(bits), total(bits);
  mpfr_sqr(square.get(), x.get(), MPFR_RNDN);
  mpfr_sqr(twice.get(), h.get(), MPFR_RNDN);  // 2 H
  mpfr_mul(ratio.get(), twice.get(), square.get(), MPFR_RNDN);
  mpfr_div_si(edge.get(), ratio.get(), -2, MPFR_RNDN);
  mpfr_exp(edge.get(), edge.get(), MPFR_RNDN);
  mpfr_pow_ui(term.get(), x.get(), 2 * count - 1, MPFR_RNDN);
  mpfr_mul(edge.get(), edge.get(), term.get(), MPFR_RNDN);
  mpfr_set_ui(term.get(), 1, MPFR_RNDN);
  mpfr_set_ui(total.get(), 1, MPFR_RNDN);
  for (unsigned long m = 1;; ++m) {
    base::check_deadline();
    mpfr_mul(term.get(), term.get(), ratio.get(), MPFR_RNDN);
    mpfr_div_ui(term.get(), term.get(), 2 * (count + m) - 1, MPFR_RNDN);
    mpfr_add(total.get(), total.get(), term.get(), MPFR_RNDN);
    const bool halving = mpfr_cmp_ui(ratio.get(), count + m) < 0;
    const bool small = term.sign() == 0 || mpfr_get_exp(term.get()) + bits < 0;
    if (halving && small) break;
  }
  mpfr_mul(total.get(), total.get(), edge.get(), MPFR_RNDN);
  mpfr_div_ui(result.back().get(), total.get(), 2 * count - 1, MPFR_RNDN);
  for (unsigned long n = count - 1; n-- > 0;) {
    base::check_deadline();
    mpfr_div(edge.get(), edge.get(), square.get(), MPFR_RNDN);
    mpfr_mul(term.get(), result[n + 1].get(), twice.get(), MPFR_RNDN);
    mpfr_add(term.get(), term.get(), edge.get(), MPFR_RNDN);
    mpfr_div_ui(result[n].get(), term.get(), 2 * n + 1, MPFR_RNDN);
  }
  return result;
}

/// The sum of (-1)^n M_n for moments M_n of a positive measure on [0, 1], to a relative error of
/// 4 (3 + 8^(1/2))^-count (Cohen, Rodriguez Villegas and Zagier 2000, algorithm 1).
Real alternating_sum(const std::vector<Real>& terms) {
  const mpfr_prec_t bits = terms[0].bits();
  const auto count = static_cast<long>(terms.size());
  Real d(bits), b(bits), c(bits), total(bits), term(bits);
  mpfr_sqrt_ui(d.get(), 8, MPFR_RNDN);
  mpfr_add_ui(d.get(), d.get(), 3, MPFR_RNDN);
  mpfr_pow_ui(d.get(), d.get(), terms.size(), MPFR_RNDN);
  mpfr_ui_div(b.get(), 1, d.get(), MPFR_RNDN);
  mpfr_add(d.get(), d.get(), b.get(), MPFR_RNDN);
  mpfr_div_2ui(d.get(), d.get(), 1, MPFR_RNDN);
  mpfr_set_si(b.get(), -1, MPFR_RNDN);
  mpfr_neg(c.get(), d.get(), MPFR_RNDN);
  mpfr_set_zero(total.get(), 1);
  for (long k = 0; k < count; ++k) {
    mpfr_sub(c.get(), b.get(), c.get(), MPFR_RNDN);
    mpfr_mul(term.get(), c.get(), terms[static_cast<std::size_t>(k)].get(), MPFR_RNDN);
    mpfr_add(total.get(), total.get(), term.get(), MPFR_RNDN);
    mpfr_mul_si(b.get(), b.get(), 2 * (k + count) * (k - count), MPFR_RNDN);
    mpfr_div_si(b.get(), b.get(), (2 * k + 1) * (k + 1), MPFR_RNDN);
  }
  mpfr_div(total.get(), total.get(), d.get(), MPFR_RNDN);
  return total;
}

Interval halved(Interval value) {
  mpfr_div_2ui(value.lower.get(), value.lower.get(), 1, MPFR_RNDD);
  mpfr_div_2ui(value.upper.get(), value.upper.get(), 1, MPFR_RNDU);
  return value;
}

/// T(h, a) for finite h > 0 and 0 < a <= 1: exp(-H)/(2 pi) int_0^a exp(-H x^2)/(1 + x^2) dx with
/// H = h^2/2, the fraction as a geometric series. Past an edge where exp(-H x^2) is below 2^-bits
/// the integral has no more to give.
Interval within_one(const Real& height, const Real& a) {
  const mpfr_prec_t bits = a.bits();
  const mpfr_prec_t for_exponential = std::max<mpfr_prec_t>(2 * mpfr_get_exp(height.get()), 0);
  const mpfr_prec_t working = bits + guard_bits + for_exponential;
  const double reach = std::sqrt(2 * static_cast<double>(working + guard_bits) * log_2);
  Real h(working), edge(working), scale(working);
  mpfr_set(h.get(), height.get(), MPFR_RNDN);
  mpfr_set_d(edge.get(), reach, MPFR_RNDN);
  mpfr_div(edge.get(), edge.get(), h.get(), MPFR_RNDN);
  mpfr_min(edge.get(), edge.get(), a.get(), MPFR_RNDN);
  const auto count = static_cast<unsigned long>(static_cast<double>(working) / 2.54) + 3;
  Real total = alternating_sum(moments(h, edge, count));
  mpfr_sqr(scale.get(), h.get(), MPFR_RNDN);
  mpfr_div_si(scale.get(), scale.get(), -2, MPFR_RNDN);
  mpfr_exp(scale.get(), scale.get(), MPFR_RNDN);
  mpfr_mul(total.get(), total.get(), scale.get(), MPFR_RNDN);
  mpfr_const_pi(scale.get(), MPFR_RNDN);
  mpfr_div(total.get(), total.get(), scale.get(), MPFR_RNDN);
  mpfr_div_2ui(total.get(), total.get(), 1, MPFR_RNDN);
  return around(total, bits);
}

Interval point(const Real& x) {
  Interval result(x.bits());
  mpfr_set(result.lower.get(), x.get(), MPFR_RNDD);
  mpfr_set(result.upper.get(), x.get(), MPFR_RNDU);
  return result;
}

Interval upper_tail(const Interval& x) {
  return phi(-x);
}

Interval owens_t_at(const Real& h, const Real& a);

/// T(h, a) + T(a h, 1/a) = (Q(h) + Q(a h))/2 - Q(h) Q(a h), Q the upper tail, for a > 1.
Interval beyond_one(const Real& h, const Real& a) {
  const Interval height = point(h), slope = point(a), far = height * slope;
  const Interval near_tail = upper_tail(height), far_tail = upper_tail(far);
  const Interval inverse = Interval(1, a.bits()) / slope;
  const Interval rest = owens_t(far, inverse);
  return halved(near_tail + far_tail) - near_tail * far_tail - rest;
}

Interval owens_t_at(const Real& h, const Real& a) {
  const mpfr_prec_t bits = a.bits();
  if (h.is_nan() || a.is_nan()) return Interval::nowhere(bits);
  if (a.sign() < 0) {
    Real turned = a;
    mpfr_neg(turned.get(), a.get(), MPFR_RNDN);
    return -owens_t_at(h, turned);
  }
  if (a.sign() == 0 || !h.is_finite()) return Interval(0, bits);
  if (!a.is_finite()) return halved(upper_tail(abs(point(h))));
  if (h.sign() == 0) return halved(atan(point(a)) / Interval::pi(bits));
  const Interval height = abs(point(h));
  if (mpfr_cmp_ui(a.get(), 1) <= 0) return within_one(height.lower, a);
  return beyond_one(height.lower, a);
}

double width_of(const Interval& x) {
  Real result(x.bits());
  mpfr_sub(result.get(), x.upper.get(), x.lower.get(), MPFR_RNDU);
  return mpfr_get_d(result.get(), MPFR_RNDU);
}

/// For narrow intervals of positive numbers, from one value: the logarithm of T changes by less
/// than h (1 + a^2) dh + da/a.
std::optional<Interval> of_narrow(const Interval& h, const Interval& a) {
  constexpr mpfr_prec_t most_bits = 900;  // the change still is a normal double
  const mpfr_prec_t bits = a.bits();
  if (bits > most_bits || h.lower.sign() <= 0 || a.lower.sign() <= 0) return std::nullopt;
  const double top_h = mpfr_get_d(h.upper.get(), MPFR_RNDU);
  const double top_a = mpfr_get_d(a.upper.get(), MPFR_RNDU);
  const double by_h = width_of(h) * top_h * (1 + top_a * top_a);
  const double by_a = width_of(a) / mpfr_get_d(a.lower.get(), MPFR_RNDD);
  const double change = 2 * (by_h + by_a);
  if (!(change < 0x1p-8)) return std::nullopt;
  Interval factor(bits);
  mpfr_set_d(factor.upper.get(), change, MPFR_RNDU);
  mpfr_ui_sub(factor.lower.get(), 1, factor.upper.get(), MPFR_RNDD);
  mpfr_add_ui(factor.upper.get(), factor.upper.get(), 1, MPFR_RNDU);
  return owens_t_at(h.lower, a.lower) * factor;
}

/// The bits that int_a^infinity loses when it is written as the whole less int_0^a.
mpfr_prec_t bits_lost(const Real& h, const Real& a) {
  constexpr double most = 1e15;
  const double product = mpfr_get_d(h.get(), MPFR_RNDU) * mpfr_get_d(a.get(), MPFR_RNDU);
  return static_cast<mpfr_prec_t>(std::min(product * product / (2 * log_2), most));
}

/// With w = h^2 (x^2 - a^2)/2 the integral is exp(-h^2 (1 + a^2)/2)/(2 pi h^2 a (1 + a^2)) times
/// int_0^infinity exp(-w) (1 + y)^(-1/2)/(1 + b y) dw, y = 2 w/(h a)^2, b = a^2/(1 + a^2). The
/// series in y alternates and its error is below the first term left out, the function being
/// completely monotone.
Interval far_complement(const Interval& h, const Interval& a) {
  const mpfr_prec_t bits = a.bits();
  const Interval one(1, bits), h2 = h * h, a2 = a * a, b = a2 / (one + a2);
  const Interval step = Interval(2, bits) / (h2 * a2);
  Interval total = one, scale = one, binomial = one, coefficient = one;
  for (std::int64_t n = 1;; ++n) {
    base::check_deadline();
    // coefficient = sum over k of binomial(2k, k)/4^k b^(n-k)
    binomial = binomial * Interval(Rational(2 * n - 1, 2 * n), bits);
    coefficient = coefficient * b + binomial;
    scale = scale * step * Interval(n, bits);
    const Interval term = scale * coefficient;
    if (mpfr_get_exp(term.upper.get()) < -bits) {
      mpfr_sub(total.lower.get(), total.lower.get(), term.upper.get(), MPFR_RNDD);
      mpfr_add(total.upper.get(), total.upper.get(), term.upper.get(), MPFR_RNDU);
      break;
    }
    total = n % 2 == 0 ? total + term : total - term;
  }
  const Interval height = exp(-h2 * (one + a2) / Interval(2, bits));
  return height * total / (Interval(2, bits) * Interval::pi(bits) * h2 * a * (one + a2));
}

Interval complement_at(const Real& h, const Real& a) {
  const mpfr_prec_t bits = a.bits();
  if (h.is_nan() || a.is_nan()) return Interval::nowhere(bits);
  if (!h.is_finite() || (!a.is_finite() && a.sign() > 0)) return Interval(0, bits);
  const mpfr_prec_t lost = a.sign() > 0 ? bits_lost(h, a) : 0;
  if (lost > bits + guard_bits) return far_complement(point(h), point(a));
  Real more_h(bits + lost + guard_bits), more_a(bits + lost + guard_bits);
  mpfr_set(more_h.get(), h.get(), MPFR_RNDN);
  mpfr_set(more_a.get(), a.get(), MPFR_RNDN);
  const Interval value = halved(upper_tail(point(more_h))) - owens_t_at(more_h, more_a);
  Interval result(bits);
  mpfr_set(result.lower.get(), value.lower.get(), MPFR_RNDD);
  mpfr_set(result.upper.get(), value.upper.get(), MPFR_RNDU);
  return result;
}

}  // namespace

/// Odd and increasing in a, even and toward 0 in |h|.
Interval owens_t(const Interval& h, const Interval& a) {
  if (h.is_nan() || a.is_nan()) return Interval::nowhere(a.bits());
  const Interval height = abs(h);
  if (std::optional<Interval> value = of_narrow(height, a)) return *std::move(value);
  Interval result(a.bits());
  result.lower = owens_t_at(a.lower.sign() >= 0 ? height.upper : height.lower, a.lower).lower;
  result.upper = owens_t_at(a.upper.sign() >= 0 ? height.lower : height.upper, a.upper).upper;
  return result;
}

/// Decreasing in h > 0 and in a.
Interval owens_t_complement(const Interval& h, const Interval& a) {
  if (h.is_nan() || a.is_nan()) return Interval::nowhere(a.bits());
  Interval result(a.bits());
  result.lower = complement_at(h.upper, a.upper).lower;
  result.upper = complement_at(h.lower, a.lower).upper;
  return result;
}

}  // namespace scalecalc::symbolic::arithmetic
