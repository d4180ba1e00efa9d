#include "symbolic/arithmetic.hpp"
#include "symbolic/bivariate_normal.hpp"

namespace scalecalc::symbolic::arithmetic {
namespace {

Interval point(const Real& x) {
  Interval result(x.bits());
  mpfr_set(result.lower.get(), x.get(), MPFR_RNDD);
  mpfr_set(result.upper.get(), x.get(), MPFR_RNDU);
  return result;
}

Interval halved(const Interval& value) {
  return value * Interval(Rational(1, 2), value.bits());
}

/// (y/x - r)/s, the a of the corner (x, y) seen from x.
Interval slope(const Interval& x, const Interval& y, const Interval& r, const Interval& s) {
  return (y / x - r) / s;
}

/// Owen's formula with its tails joined: C(h, a) = Phi(-h)/2 - T(h, a) for h > 0 is an integral of
/// positive numbers, and the value C(-h, a) + C(-k, a') for h, k < 0; C(-h, a) - C(k, -a') for
/// h < 0 < k. So nothing is lost where the probability is small.
Interval apart(const Real& h, const Real& k, const Interval& r) {
  const mpfr_prec_t bits = h.bits();
  const Interval x = point(h), y = point(k), one(1, bits);
  const Interval s = pow((one - r) * (one + r), Rational(1, 2));
  if (h.sign() >= 0 && k.sign() >= 0) {
    Interval value = halved(phi(x) + phi(y));
    if (h.sign() > 0) value = value - owens_t(x, slope(x, y, r, s));
    if (k.sign() > 0) value = value - owens_t(y, slope(y, x, r, s));
    const bool on_axis = h.sign() == 0 || k.sign() == 0;
    return on_axis ? value - Interval(Rational(1, 4), bits) : value;
  }
  if (h.sign() > 0) return apart(k, h, r);
  Interval value(0, bits);
  if (h.sign() < 0) value = owens_t_complement(-x, slope(x, y, r, s));
  if (k.sign() < 0) return value + owens_t_complement(-y, slope(y, x, r, s));
  if (k.sign() > 0) return value - owens_t_complement(y, -slope(y, x, r, s));
  return value;
}

/// P(-k < X < h), as the difference of the smaller tails.
Interval strip(const Interval& h, const Interval& k) {
  return h.lower.sign() < 0 ? phi(h) - phi(-k) : phi(k) - phi(-h);
}

Interval phi2_at(const Real& h, const Real& k, const Real& r) {
  const mpfr_prec_t bits = h.bits();
  const Interval zero(0, bits), correlation = point(r);
  if (h.is_nan() || k.is_nan() || r.is_nan()) return Interval::nowhere(bits);
  if (mpfr_cmp_si(r.get(), 1) >= 0) return min(phi(point(h)), phi(point(k)));
  if (mpfr_cmp_si(r.get(), -1) <= 0) return max(strip(point(h), point(k)), zero);
  if (!h.is_finite()) return h.sign() < 0 ? zero : phi(point(k));
  if (!k.is_finite()) return k.sign() < 0 ? zero : phi(point(h));
  if (h.sign() == 0 && k.sign() == 0) return halved(acos(-correlation) / Interval::pi(bits));
  return max(apart(h, k, correlation), zero);
}

}  // namespace

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
