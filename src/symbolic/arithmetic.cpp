#include "symbolic/arithmetic.hpp"

#include "symbolic/big.hpp"

namespace scalecalc::symbolic::arithmetic {
namespace {

using Rounded = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

/// sin of a number with a billion bits before the point would take as many bits of pi.
constexpr mpfr_exp_t largest_angle = 1 << 16;

Interval increasing(Rounded function, const Interval& x) {
  Interval result(x.bits());
  function(result.lower.get(), x.lower.get(), MPFR_RNDD);
  function(result.upper.get(), x.upper.get(), MPFR_RNDU);
  return result;
}

Interval decreasing(Rounded function, const Interval& x) {
  Interval result(x.bits());
  function(result.lower.get(), x.upper.get(), MPFR_RNDD);
  function(result.upper.get(), x.lower.get(), MPFR_RNDU);
  return result;
}

Interval clamped(Interval x, int lowest, int highest) {
  if (mpfr_cmp_si(x.lower.get(), highest) > 0 || mpfr_cmp_si(x.upper.get(), lowest) < 0) {
    return Interval::nowhere(x.bits());
  }
  if (mpfr_cmp_si(x.lower.get(), lowest) < 0) mpfr_set_si(x.lower.get(), lowest, MPFR_RNDD);
  if (mpfr_cmp_si(x.upper.get(), highest) > 0) mpfr_set_si(x.upper.get(), highest, MPFR_RNDU);
  return x;
}

Interval between(int lowest, int highest, mpfr_prec_t bits) {
  Interval result(bits);
  mpfr_set_si(result.lower.get(), lowest, MPFR_RNDD);
  mpfr_set_si(result.upper.get(), highest, MPFR_RNDU);
  return result;
}

bool is_small_angle(const Real& x) {
  return x.sign() == 0 || (x.is_finite() && mpfr_get_exp(x.get()) < largest_angle);
}

/// sin and cos change by no more than their argument: the value at the lower end, give or take the
/// width.
Interval wave(Rounded function, const Interval& x) {
  if (x.is_nan()) return x;
  if (!is_small_angle(x.lower) || !is_small_angle(x.upper)) return between(-1, 1, x.bits());
  Interval result(x.bits());
  Real width(x.bits());
  mpfr_sub(width.get(), x.upper.get(), x.lower.get(), MPFR_RNDU);
  function(result.lower.get(), x.lower.get(), MPFR_RNDD);
  function(result.upper.get(), x.lower.get(), MPFR_RNDU);
  mpfr_sub(result.lower.get(), result.lower.get(), width.get(), MPFR_RNDD);
  mpfr_add(result.upper.get(), result.upper.get(), width.get(), MPFR_RNDU);
  return clamped(std::move(result), -1, 1);
}

int sign_of(mpfr_ptr target, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_nan_p(x)) return mpfr_set(target, x, rounding);
  return mpfr_set_si(target, mpfr_sgn(x), rounding);
}

unsigned long magnitude_of(std::int64_t value) {
  return static_cast<unsigned long>(value < 0 ? -value : value);
}

/// x^count for x >= 0 and count > 0, by its ends.
Interval power_of_ends(const Interval& x, unsigned long count) {
  Interval result(x.bits());
  mpfr_pow_ui(result.lower.get(), x.lower.get(), count, MPFR_RNDD);
  mpfr_pow_ui(result.upper.get(), x.upper.get(), count, MPFR_RNDU);
  return result;
}

Interval integer_power(const Interval& x, unsigned long count) {
  if (x.lower.sign() >= 0) return power_of_ends(x, count);
  if (count % 2 == 0) return power_of_ends(abs(x), count);
  return power_of_ends(x, count);  // odd powers increase everywhere
}

Interval root(const Interval& x, unsigned long degree) {
  if (x.upper.sign() < 0) return Interval::nowhere(x.bits());
  Interval result(x.bits());
  if (x.lower.sign() <= 0) {
    mpfr_set_zero(result.lower.get(), 1);
  } else {
    mpfr_rootn_ui(result.lower.get(), x.lower.get(), degree, MPFR_RNDD);
  }
  mpfr_rootn_ui(result.upper.get(), x.upper.get(), degree, MPFR_RNDU);
  return result;
}

/// MPFR 4.2 aborts in erf where more than 1000 bits of the first two terms of its series, x -
/// x^3/3, cancel.
bool is_beside_root_3(mpfr_srcptr x) {
  if (mpfr_number_p(x) == 0) return false;
  Real distance(2 * mpfr_get_prec(x));
  mpfr_sqr(distance.get(), x, MPFR_RNDN);
  mpfr_sub_ui(distance.get(), distance.get(), 3, MPFR_RNDN);
  return distance.sign() == 0 || mpfr_get_exp(distance.get()) < -900;
}

/// erf(x) = 1 - Gamma(1/2, x^2)/pi^(1/2) for x > 0.
Interval erf_by_gamma(mpfr_srcptr x) {
  const mpfr_prec_t bits = mpfr_get_prec(x) + 32;
  Interval square(bits), tail(bits);
  mpfr_sqr(square.lower.get(), x, MPFR_RNDD);
  mpfr_sqr(square.upper.get(), x, MPFR_RNDU);
  const Interval half(Rational(1, 2), bits);
  mpfr_gamma_inc(tail.lower.get(), half.lower.get(), square.upper.get(), MPFR_RNDD);
  mpfr_gamma_inc(tail.upper.get(), half.lower.get(), square.lower.get(), MPFR_RNDU);
  const Interval size = Interval(1, bits) - tail / root(Interval::pi(bits), 2);
  return mpfr_sgn(x) < 0 ? -size : size;
}

int end_of(mpfr_ptr target, const Interval& value, mpfr_rnd_t rounding) {
  return mpfr_set(target, (rounding == MPFR_RNDD ? value.lower : value.upper).get(), rounding);
}

int erf_of(mpfr_ptr target, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (!is_beside_root_3(x)) return mpfr_erf(target, x, rounding);
  return end_of(target, erf_by_gamma(x), rounding);
}

int erfc_of(mpfr_ptr target, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (!is_beside_root_3(x)) return mpfr_erfc(target, x, rounding);
  const Interval value = erf_by_gamma(x);
  return end_of(target, Interval(1, value.bits()) - value, rounding);
}

}  // namespace

Interval exp(const Interval& x) {
  return increasing(mpfr_exp, x);
}
Interval atan(const Interval& x) {
  return increasing(mpfr_atan, x);
}
Interval sinh(const Interval& x) {
  return increasing(mpfr_sinh, x);
}
Interval tanh(const Interval& x) {
  return increasing(mpfr_tanh, x);
}
Interval erf(const Interval& x) {
  return increasing(erf_of, x);
}
Interval erfc(const Interval& x) {
  return decreasing(erfc_of, x);
}
Interval sign(const Interval& x) {
  return increasing(sign_of, x);
}
Interval sin(const Interval& x) {
  return wave(mpfr_sin, x);
}
Interval cos(const Interval& x) {
  return wave(mpfr_cos, x);
}
Interval tan(const Interval& x) {
  return sin(x) / cos(x);
}
Interval cosh(const Interval& x) {
  return increasing(mpfr_cosh, abs(x));
}

Interval log(const Interval& x) {
  if (x.is_nan() || x.upper.sign() <= 0) return Interval::nowhere(x.bits());
  if (x.lower.sign() > 0) return increasing(mpfr_log, x);
  Interval result = Interval::whole_line(x.bits());
  mpfr_log(result.upper.get(), x.upper.get(), MPFR_RNDU);
  return result;
}

Interval asin(const Interval& x) {
  return increasing(mpfr_asin, clamped(x, -1, 1));
}
Interval acos(const Interval& x) {
  return decreasing(mpfr_acos, clamped(x, -1, 1));
}

Interval abs(const Interval& x) {
  if (x.is_nan() || x.lower.sign() >= 0) return x;
  if (x.upper.sign() <= 0) return -x;
  Interval result = -x;
  mpfr_max(result.upper.get(), x.upper.get(), result.upper.get(), MPFR_RNDU);
  mpfr_set_zero(result.lower.get(), 1);
  return result;
}

Interval step(const Interval& x) {
  const Interval half(Rational(1, 2), x.bits());
  return half + half * sign(x);
}

Interval min(const Interval& a, const Interval& b) {
  return -max(-a, -b);
}

Interval max(const Interval& a, const Interval& b) {
  if (a.is_nan() || b.is_nan()) return Interval::nowhere(a.bits());
  Interval result(a.bits());
  mpfr_max(result.lower.get(), a.lower.get(), b.lower.get(), MPFR_RNDD);
  mpfr_max(result.upper.get(), a.upper.get(), b.upper.get(), MPFR_RNDU);
  return result;
}

Interval sigmoid(const Interval& x) {
  const Interval one(1, x.bits());
  return one / (one + exp(-x));
}

Interval softplus(const Interval& x) {
  if (x.lower.sign() > 0) return x + increasing(mpfr_log1p, exp(-x));
  return increasing(mpfr_log1p, exp(x));
}

Interval phi(const Interval& x) {
  return Interval(Rational(1, 2), x.bits()) * erfc(-x / root(Interval(2, x.bits()), 2));
}

double pow(double base, const Rational& exponent) {
  if (exponent == Rational(1, 2)) return std::sqrt(base);
  if (exponent == Rational(-1)) return 1 / base;
  if (exponent == Rational(-1, 2)) return 1 / std::sqrt(base);
  if (base < 0 && !exponent.is_integer()) return std::nan("");
  if (base < 0 && exponent.is_integer() && !exponent.to_int64()) {
    const double size = std::pow(-base, exponent.to_double());
    return (exponent / 2).is_integer() ? size : -size;
  }
  return std::pow(base, exponent.to_double());
}

double pow(double base, double exponent) {
  return std::pow(base, exponent);
}

Interval pow(const Interval& base, const Rational& exponent) {
  if (base.is_nan()) return base;
  const auto top = exponent.numerator().to_int64(), bottom = exponent.denominator().to_int64();
  if (!top || !bottom) return pow(base, Interval(exponent, base.bits()));
  const Interval rooted = *bottom == 1 ? base : root(base, static_cast<unsigned long>(*bottom));
  if (rooted.is_nan()) return rooted;
  const Interval raised = integer_power(rooted, magnitude_of(*top));
  return *top > 0 ? raised : Interval(1, base.bits()) / raised;
}

Interval pow(const Interval& base, const Interval& exponent) {
  const bool whole = mpfr_equal_p(exponent.lower.get(), exponent.upper.get()) &&
                     mpfr_fits_slong_p(exponent.lower.get(), MPFR_RNDN) &&
                     mpfr_integer_p(exponent.lower.get());
  if (whole) {
    return pow(base, Rational(mpfr_get_si(exponent.lower.get(), MPFR_RNDN)));
  }
  if (base.lower.sign() == 0 && base.upper.sign() == 0 && exponent.lower.sign() > 0) return base;
  return exp(exponent * log(base));
}

}  // namespace scalecalc::symbolic::arithmetic
