#include "symbolic/big.hpp"
#include "symbolic/real.hpp"

namespace scalecalc::symbolic {
namespace {

void set_quotient(Real& target, const Rational& value, mpfr_rnd_t rounding) {
  if (!value.big() && value.is_integer()) {
    mpfr_set_si(target.get(), static_cast<long>(value.small_numerator()), rounding);
    return;
  }
  mpq_t quotient;
  mpq_init(quotient);
  if (const auto& big = value.big()) {
    mpq_set_num(quotient, big->numerator.get_mpz_t());
    mpq_set_den(quotient, big->denominator.get_mpz_t());
  } else {
    mpq_set_si(quotient, static_cast<long>(value.small_numerator()),
               static_cast<unsigned long>(value.small_denominator()));
  }
  mpfr_set_q(target.get(), quotient, rounding);
  mpq_clear(quotient);
}

/// 0 times infinity is 0 here: an end of an interval stands for numbers below it.
void multiply_ends(Real& target, const Real& a, const Real& b, mpfr_rnd_t rounding) {
  if (a.sign() == 0 || b.sign() == 0) {
    mpfr_set_zero(target.get(), 1);
  } else {
    mpfr_mul(target.get(), a.get(), b.get(), rounding);
  }
}

/// Gives back, when a thread ends, what MPFR keeps for it: digits of pi and the like.
struct ThreadCaches {
  ~ThreadCaches() { mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE); }
};

}  // namespace

// Every evaluation begins with a number.
Interval::Interval(const Rational& value, mpfr_prec_t bits) : Interval(bits) {
  static thread_local const ThreadCaches caches;
  set_quotient(lower, value, MPFR_RNDD);
  set_quotient(upper, value, MPFR_RNDU);
}

Interval Interval::pi(mpfr_prec_t bits) {
  Interval result(bits);
  mpfr_const_pi(result.lower.get(), MPFR_RNDD);
  mpfr_const_pi(result.upper.get(), MPFR_RNDU);
  return result;
}

Interval Interval::whole_line(mpfr_prec_t bits) {
  Interval result(bits);
  mpfr_set_inf(result.lower.get(), -1);
  mpfr_set_inf(result.upper.get(), 1);
  return result;
}

Interval Interval::nowhere(mpfr_prec_t bits) {
  return Interval(bits);
}

Interval operator+(const Interval& a, const Interval& b) {
  Interval result(a.bits());
  mpfr_add(result.lower.get(), a.lower.get(), b.lower.get(), MPFR_RNDD);
  mpfr_add(result.upper.get(), a.upper.get(), b.upper.get(), MPFR_RNDU);
  return result;
}

Interval operator-(const Interval& a, const Interval& b) {
  return a + -b;
}

Interval operator-(const Interval& a) {
  Interval result(a.bits());
  mpfr_neg(result.lower.get(), a.upper.get(), MPFR_RNDD);
  mpfr_neg(result.upper.get(), a.lower.get(), MPFR_RNDU);
  return result;
}

Interval operator*(const Interval& a, const Interval& b) {
  if (a.is_nan() || b.is_nan()) return Interval::nowhere(a.bits());
  Interval result(a.bits());
  Real candidate(a.bits());
  multiply_ends(result.lower, a.lower, b.lower, MPFR_RNDD);
  multiply_ends(result.upper, a.lower, b.lower, MPFR_RNDU);
  const auto consider = [&](const Real& left, const Real& right) {
    multiply_ends(candidate, left, right, MPFR_RNDD);
    mpfr_min(result.lower.get(), result.lower.get(), candidate.get(), MPFR_RNDD);
    multiply_ends(candidate, left, right, MPFR_RNDU);
    mpfr_max(result.upper.get(), result.upper.get(), candidate.get(), MPFR_RNDU);
  };
  consider(a.lower, b.upper);
  consider(a.upper, b.lower);
  consider(a.upper, b.upper);
  return result;
}

Interval operator/(const Interval& a, const Interval& b) {
  if (a.is_nan() || b.is_nan()) return Interval::nowhere(a.bits());
  if (b.lower.sign() == 0 && b.upper.sign() == 0) return Interval::nowhere(a.bits());
  if (b.lower.sign() < 0 && b.upper.sign() > 0) return Interval::whole_line(a.bits());
  Interval inverse(b.bits());
  if (b.upper.sign() == 0) {
    mpfr_set_inf(inverse.lower.get(), -1);
  } else {
    mpfr_ui_div(inverse.lower.get(), 1, b.upper.get(), MPFR_RNDD);
  }
  if (b.lower.sign() == 0) {
    mpfr_set_inf(inverse.upper.get(), 1);
  } else {
    mpfr_ui_div(inverse.upper.get(), 1, b.lower.get(), MPFR_RNDU);
  }
  return a * inverse;
}

}  // namespace scalecalc::symbolic
