#pragma once

#include <vector>

#include "scalecalc/activation.hpp"
#include "symbolic/real.hpp"

/// phi and phi' at any precision, from the expression: independent of the compiled evaluation, and
/// without overflow.
namespace scalecalc::gaussian::quadrature {

/// An expression in x as an enclosure at one point, at the precision of the point.
symbolic::Interval enclose_at(const Expr& expr, const symbolic::Real& x);

class ExactFunction {
 public:
  enum class Which { value, slope };
  ExactFunction(const Activation& activation, Which which, mpfr_prec_t bits);

  /// To nearly all bits of `bits`, relative to the value: cancellation is answered with more bits.
  /// NaN where there is no value.
  symbolic::Real operator()(const symbolic::Real& x) const;
  const std::vector<symbolic::Real>& breaks() const { return breaks_; }

 private:
  const Expr& piece(const symbolic::Real& x) const;

  std::vector<Expr> pieces_;
  std::vector<symbolic::Real> breaks_;
  mpfr_prec_t bits_;
};

/// The midpoint of an enclosure.
symbolic::Real middle(const symbolic::Interval& value);

}  // namespace scalecalc::gaussian::quadrature
