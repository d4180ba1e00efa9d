#include <algorithm>
#include <cmath>

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

/// int_0^x t^(2 n) exp(-H t^2) dt by its positive series,
/// x^(2n+1) exp(-H x^2)/(2n+1) sum over m of (2 H x^2)^m/((2n+3) ... (2n+2m+1)).
Real top_moment(const Real& edge, const Real& doubled, unsigned long n) {
  const mpfr_prec_t bits = edge.bits();
  Real term(bits), total(bits);
  mpfr_set_ui(term.get(), 1, MPFR_RNDN);
  mpfr_set_ui(total.get(), 1, MPFR_RNDN);
  for (unsigned long m = 1;; ++m) {
    mpfr_mul(term.get(), term.get(), doubled.get(), MPFR_RNDN);
    mpfr_div_ui(term.get(), term.get(), 2 * n + 2 * m + 1, MPFR_RNDN);
    mpfr_add(total.get(), total.get(), term.get(), MPFR_RNDN);
    const bool falling = mpfr_cmp_ui(doubled.get(), n + m) < 0;
    if (falling &&
        (term.sign() == 0 || mpfr_get_exp(term.get()) < mpfr_get_exp(total.get()) - bits)) {
      break;
    }
  }
  mpfr_mul(total.get(), total.get(), edge.get(), MPFR_RNDN);
  mpfr_div_ui(total.get(), total.get(), 2 * n + 1, MPFR_RNDN);
  return total;
}

/// T(h, a) for an edge x of at most 1/2, as exp(-H)/(2 pi) sum of (-1)^n M_n with H = h^2/2 and
/// M_n = int_0^x t^(2n) exp(-H t^2) dt. Downward, M_n = (2 H M_(n+1) + x^(2n+1) exp(-H x^2))/(2n+1)
/// adds positive numbers only.
Interval short_edge(const Real& h, const Real& x, mpfr_prec_t bits) {
  const mpfr_prec_t working = bits + guard_bits;
  const auto count = static_cast<unsigned long>(working / 2 + 2);
  Real square(working), height(working), doubled(working), edge(working), moment(working),
      total(working), step(working);
  mpfr_sqr(square.get(), x.get(), MPFR_RNDN);
  mpfr_sqr(height.get(), h.get(), MPFR_RNDN);  // 2 H
  mpfr_mul(doubled.get(), height.get(), square.get(), MPFR_RNDN);
  mpfr_div_2ui(edge.get(), doubled.get(), 1, MPFR_RNDN);
  mpfr_neg(edge.get(), edge.get(), MPFR_RNDN);
  mpfr_exp(edge.get(), edge.get(), MPFR_RNDN);
  mpfr_mul(edge.get(), edge.get(), x.get(), MPFR_RNDN);
  mpfr_pow_ui(step.get(), square.get(), count, MPFR_RNDN);
  mpfr_mul(edge.get(), edge.get(), step.get(), MPFR_RNDN);
  moment = top_moment(edge, doubled, count);
  mpfr_set(total.get(), moment.get(), MPFR_RNDN);
  for (unsigned long n = count; n-- > 0;) {
    mpfr_div(edge.get(), edge.get(), square.get(), MPFR_RNDN);
    mpfr_mul(moment.get(), moment.get(), height.get(), MPFR_RNDN);
    mpfr_add(moment.get(), moment.get(), edge.get(), MPFR_RNDN);
    mpfr_div_ui(moment.get(), moment.get(), 2 * n + 1, MPFR_RNDN);
    mpfr_sub(total.get(), moment.get(), total.get(), MPFR_RNDN);
  }
  mpfr_div_2ui(height.get(), height.get(), 1, MPFR_RNDN);
  mpfr_neg(height.get(), height.get(), MPFR_RNDN);
  mpfr_exp(height.get(), height.get(), MPFR_RNDN);
  mpfr_mul(total.get(), total.get(), height.get(), MPFR_RNDN);
  mpfr_const_pi(step.get(), MPFR_RNDN);
  mpfr_mul_2ui(step.get(), step.get(), 1, MPFR_RNDN);
  mpfr_div(total.get(), total.get(), step.get(), MPFR_RNDN);
  return around(total, bits);
}

/// T(h, a) for a in (1/2, 1] and moderate H = h^2/2 (Owen 1956):
/// (atan(a) - sum over n of (-1)^n P(N > n) a^(2n+1)/(2n+1))/(2 pi) for N Poisson of mean H. The
/// value is about exp(-H), so that many bits more are carried.
Interval long_edge(const Real& h, const Real& a, mpfr_prec_t bits) {
  const double mean = mpfr_get_d(h.get(), MPFR_RNDU) * mpfr_get_d(h.get(), MPFR_RNDU) / 2;
  const mpfr_prec_t working =
      bits + 2 * guard_bits + static_cast<mpfr_prec_t>(std::ceil(1.5 * mean / log_2));
  Real height(working), mass(working), tail(working), power(working), square(working),
      total(working), term(working);
  mpfr_sqr(height.get(), h.get(), MPFR_RNDN);
  mpfr_div_2ui(height.get(), height.get(), 1, MPFR_RNDN);
  mpfr_neg(mass.get(), height.get(), MPFR_RNDN);
  mpfr_exp(mass.get(), mass.get(), MPFR_RNDN);
  mpfr_ui_sub(tail.get(), 1, mass.get(), MPFR_RNDN);
  mpfr_set(power.get(), a.get(), MPFR_RNDN);
  mpfr_sqr(square.get(), a.get(), MPFR_RNDN);
  mpfr_atan(total.get(), a.get(), MPFR_RNDN);
  for (unsigned long n = 0;; ++n) {
    mpfr_mul(term.get(), tail.get(), power.get(), MPFR_RNDN);
    mpfr_div_ui(term.get(), term.get(), 2 * n + 1, MPFR_RNDN);
    (n % 2 == 0 ? mpfr_sub : mpfr_add)(total.get(), total.get(), term.get(), MPFR_RNDN);
    if (static_cast<double>(n) > 2 * mean &&
        (mass.sign() == 0 || mpfr_get_exp(mass.get()) < -working)) {
      break;
    }
    mpfr_mul(mass.get(), mass.get(), height.get(), MPFR_RNDN);
    mpfr_div_ui(mass.get(), mass.get(), n + 1, MPFR_RNDN);
    mpfr_sub(tail.get(), tail.get(), mass.get(), MPFR_RNDN);
    mpfr_mul(power.get(), power.get(), square.get(), MPFR_RNDN);
  }
  mpfr_const_pi(term.get(), MPFR_RNDN);
  mpfr_mul_2ui(term.get(), term.get(), 1, MPFR_RNDN);
  mpfr_div(total.get(), total.get(), term.get(), MPFR_RNDN);
  return around(total, bits);
}

Interval halved(Interval value) {
  mpfr_div_2ui(value.lower.get(), value.lower.get(), 1, MPFR_RNDD);
  mpfr_div_2ui(value.upper.get(), value.upper.get(), 1, MPFR_RNDU);
  return value;
}

/// T(h, a) for finite h > 0 and 0 < a <= 1. Past an edge where exp(-h^2 x^2/2) is below 2^-bits the
/// integral has no more to give.
Interval within_one(const Real& h, const Real& a) {
  const mpfr_prec_t bits = a.bits();
  const double reach = std::sqrt(2 * static_cast<double>(bits + 2 * guard_bits) * log_2);
  const double edge = reach / mpfr_get_d(h.get(), MPFR_RNDD);
  if (mpfr_cmp_d(a.get(), 0.5) <= 0) return short_edge(h, a, bits);
  if (edge > 0.5) return long_edge(h, a, bits);
  Real cut(bits);
  mpfr_set_d(cut.get(), edge, MPFR_RNDN);
  return short_edge(h, cut, bits);
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
  // Through the ends: decreasing in |h|, increasing in a.
  Interval rest(a.bits());
  rest.lower = owens_t_at(far.upper, inverse.lower).lower;
  rest.upper = owens_t_at(far.lower, inverse.upper).upper;
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

/// P(X < h, Y < k) at a point, see the formula for numbers.
Interval phi2_at(const Real& h, const Real& k, const Real& r) {
  const mpfr_prec_t bits = h.bits();
  const Interval x = point(h), y = point(k), one(1, bits), correlation = point(r);
  if (h.is_nan() || k.is_nan() || r.is_nan()) return Interval::nowhere(bits);
  if (mpfr_cmp_si(r.get(), 1) >= 0) return min(phi(x), phi(y));
  if (mpfr_cmp_si(r.get(), -1) <= 0) return max(phi(x) + phi(y) - one, Interval(0, bits));
  if (!h.is_finite()) return h.sign() < 0 ? Interval(0, bits) : phi(y);
  if (!k.is_finite()) return k.sign() < 0 ? Interval(0, bits) : phi(x);
  if (h.sign() == 0 && k.sign() == 0) return halved(acos(-correlation) / Interval::pi(bits));
  const Interval s = pow((one - correlation) * (one + correlation), Rational(1, 2));
  const Interval quarter(Rational(1, 4), bits);
  const auto corner = [&](const Real& from, const Interval& near, const Interval& far) {
    if (from.sign() == 0) return far.lower.sign() < 0 ? -quarter : quarter;
    return owens_t(near, (far / near - correlation) / s);
  };
  const bool opposite =
      h.sign() * k.sign() < 0 || (h.sign() * k.sign() == 0 && h.sign() + k.sign() < 0);
  const Interval shift(opposite ? Rational(1, 2) : Rational(0), bits);
  const Interval value = halved(phi(x) + phi(y)) - corner(h, x, y) - corner(k, y, x) - shift;
  return max(value, Interval(0, bits));
}

}  // namespace

/// Odd and increasing in a, even and toward 0 in |h|.
Interval owens_t(const Interval& h, const Interval& a) {
  if (h.is_nan() || a.is_nan()) return Interval::nowhere(a.bits());
  const Interval height = abs(h);
  Interval result(a.bits());
  result.lower = owens_t_at(a.lower.sign() >= 0 ? height.upper : height.lower, a.lower).lower;
  result.upper = owens_t_at(a.upper.sign() >= 0 ? height.lower : height.upper, a.upper).upper;
  return result;
}

/// Increasing in each argument (in r by Plackett's identity).
Interval phi2(const Interval& h, const Interval& k, const Interval& r) {
  if (h.is_nan() || k.is_nan() || r.is_nan()) return Interval::nowhere(h.bits());
  if (mpfr_cmp_si(r.lower.get(), 1) > 0 || mpfr_cmp_si(r.upper.get(), -1) < 0) {
    return Interval::nowhere(h.bits());
  }
  Interval result(h.bits());
  result.lower = phi2_at(h.lower, k.lower, r.lower).lower;
  result.upper = phi2_at(h.upper, k.upper, r.upper).upper;
  return result;
}

}  // namespace scalecalc::symbolic::arithmetic
