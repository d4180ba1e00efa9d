#include "gaussian/quadrature/exact.hpp"

#include "base/deadline.hpp"
#include "symbolic/evaluate.hpp"

namespace scalecalc::gaussian::quadrature {

using symbolic::Interval;
using symbolic::Real;

namespace {

struct AtPoint {
  const Real& x;

  Interval number(const Rational& value) const { return Interval(value, x.bits()); }
  Interval pi() const { return Interval::pi(x.bits()); }
  Interval symbol(const Expr&) const {
    Interval point(x.bits());
    point.lower = x;
    point.upper = x;
    return point;
  }
  Interval call(const symbolic::Function& function, std::span<const Interval> arguments) const {
    return function.in_interval(arguments);
  }
};

Real with_bits(const Real& x, mpfr_prec_t bits) {
  Real result(bits);
  mpfr_set(result.get(), x.get(), MPFR_RNDN);
  return result;
}

/// Whether the ends agree to nearly `bits` bits. A value that is 0 may be enclosed by numbers far
/// below anything that counts.
bool is_settled(const Interval& value, mpfr_prec_t bits) {
  if (value.is_nan() || !value.lower.is_finite() || !value.upper.is_finite()) return true;
  Real width(value.bits());
  mpfr_sub(width.get(), value.upper.get(), value.lower.get(), MPFR_RNDU);
  if (width.sign() == 0) return true;
  const mpfr_exp_t error = mpfr_get_exp(width.get());
  if (value.contains_zero()) return error < -40 * bits;
  return error < mpfr_get_exp(value.lower.get()) - bits + 4;
}

/// Beside a point where the expression has only a limit.
Real beside(const Real& x) {
  Real result(2 * x.bits()), small(2 * x.bits());
  mpfr_set(result.get(), x.get(), MPFR_RNDN);
  mpfr_set_ui_2exp(small.get(), 1, (x.sign() == 0 ? 0 : mpfr_get_exp(x.get())) - x.bits(),
                   MPFR_RNDN);
  mpfr_add(result.get(), result.get(), small.get(), MPFR_RNDN);
  return result;
}

}  // namespace

Interval enclose_at(const Expr& expr, const Real& x) {
  return symbolic::evaluate_in<Interval>(expr, AtPoint{x});
}

Real middle(const Interval& value) {
  Real result(value.bits());
  mpfr_add(result.get(), value.lower.get(), value.upper.get(), MPFR_RNDN);
  mpfr_div_2ui(result.get(), result.get(), 1, MPFR_RNDN);
  return result;
}

ExactFunction::ExactFunction(const Activation& activation, Which which, mpfr_prec_t bits)
    : pieces_(which == Which::value ? activation.pieces() : activation.slope_pieces()),
      bits_(bits) {
  for (const Break& at : activation.breaks()) {
    breaks_.push_back(middle(symbolic::enclose(at.where, {}, bits + 32)));
  }
}

const Expr& ExactFunction::piece(const Real& x) const {
  std::size_t k = 0;
  while (k < breaks_.size() && mpfr_cmp(x.get(), breaks_[k].get()) > 0) ++k;
  return pieces_[k];
}

Real ExactFunction::operator()(const Real& x) const {
  base::check_deadline();
  const Expr& expr = piece(x);
  Interval value(bits_);
  for (mpfr_prec_t bits = bits_ + 16; bits <= 16 * bits_ + 256; bits *= 2) {
    value = enclose_at(expr, with_bits(x, std::max(bits, x.bits())));
    if (is_settled(value, bits_)) break;
  }
  if (value.is_nan()) value = enclose_at(expr, beside(x));
  return with_bits(middle(value), bits_);
}

}  // namespace scalecalc::gaussian::quadrature
