#pragma once

#include <mpfr.h>

#include <array>
#include <cstddef>
#include <string>

#include "scalecalc/symbolic.hpp"

namespace scalecalc::symbolic {

/// An MPFR number that cleans up after itself; every number carries its own precision, so that
/// nothing depends on a global state. Digits of the usual precisions lie inside: most of an
/// evaluation would else be allocation.
class Real {
 public:
  explicit Real(mpfr_prec_t bits) { start(bits); }
  Real(const Real& other) : Real(other.bits()) { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Real(Real&& other) noexcept { take(other); }
  Real& operator=(const Real& other) { return *this = Real(other); }
  Real& operator=(Real&& other) noexcept {
    if (this == &other) return *this;
    finish();
    take(other);
    return *this;
  }
  ~Real() { finish(); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }
  mpfr_prec_t bits() const { return mpfr_get_prec(value_); }
  int sign() const { return mpfr_sgn(value_); }
  bool is_nan() const { return mpfr_nan_p(value_) != 0; }
  bool is_finite() const { return mpfr_number_p(value_) != 0; }

 private:
  static constexpr std::size_t kLimbs = 4;
  static constexpr mpfr_prec_t kBits = kLimbs * sizeof(mp_limb_t) * 8;

  bool is_inside() const { return bits() <= kBits; }
  void start(mpfr_prec_t bits) {
    if (bits > kBits) return mpfr_init2(value_, bits);
    mpfr_custom_init(limbs_.data(), bits);
    mpfr_custom_init_set(value_, MPFR_NAN_KIND, 0, bits, limbs_.data());
  }
  /// `other` is left as a number of the least precision.
  void take(Real& other) noexcept {
    if (other.is_inside()) {
      start(other.bits());
      mpfr_set(value_, other.value_, MPFR_RNDN);
    } else {
      *value_ = *other.value_;
      other.start(MPFR_PREC_MIN);
    }
  }
  void finish() noexcept {
    if (!is_inside()) mpfr_clear(value_);
  }

  std::array<mp_limb_t, kLimbs> limbs_;
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
