#pragma once

#include <mpfr.h>

#include <string>

#include "scalecalc/symbolic.hpp"

namespace scalecalc::symbolic {

/// An MPFR number that cleans up after itself; every number carries its own precision, so that
/// nothing depends on a global state.
class Real {
 public:
  explicit Real(mpfr_prec_t bits) { mpfr_init2(value_, bits); }
  Real(const Real& other) : Real(other.bits()) { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Real(Real&& other) noexcept : Real(mpfr_prec_t{2}) { mpfr_swap(value_, other.value_); }
  Real& operator=(Real other) noexcept {
    mpfr_swap(value_, other.value_);
    return *this;
  }
  ~Real() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }
  mpfr_prec_t bits() const { return mpfr_get_prec(value_); }
  int sign() const { return mpfr_sgn(value_); }
  bool is_nan() const { return mpfr_nan_p(value_) != 0; }
  bool is_finite() const { return mpfr_number_p(value_) != 0; }

 private:
  mpfr_t value_;
};

/// [lower, upper], a certain enclosure of a real value: every operation rounds outward. Both ends
/// are NaN where no real value exists.
struct Interval {
  Real lower, upper;

  explicit Interval(mpfr_prec_t bits) : lower(bits), upper(bits) {}
  Interval(const Rational& value, mpfr_prec_t bits);
  static Interval pi(mpfr_prec_t bits);
  static Interval whole_line(mpfr_prec_t bits);
  static Interval nowhere(mpfr_prec_t bits);

  mpfr_prec_t bits() const { return lower.bits(); }
  bool is_nan() const { return lower.is_nan() || upper.is_nan(); }
  bool contains_zero() const { return lower.sign() <= 0 && upper.sign() >= 0; }
};

/// The widest range of exponents MPFR has, for as long as it lives: exp(x^2) far out is a number.
/// Numbers made meanwhile do not outlive it.
class WideExponents {
 public:
  WideExponents() : least_(mpfr_get_emin()), most_(mpfr_get_emax()) {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
  }
  ~WideExponents() {
    mpfr_set_emin(least_);
    mpfr_set_emax(most_);
  }
  WideExponents(const WideExponents&) = delete;
  WideExponents& operator=(const WideExponents&) = delete;

 private:
  mpfr_exp_t least_, most_;
};

Interval operator+(const Interval& a, const Interval& b);
Interval operator-(const Interval& a, const Interval& b);
Interval operator*(const Interval& a, const Interval& b);
Interval operator/(const Interval& a, const Interval& b);
Interval operator-(const Interval& a);

}  // namespace scalecalc::symbolic
