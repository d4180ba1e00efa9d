#pragma once

#include "scalecalc/activation.hpp"
#include "symbolic/real.hpp"

/// Certain values of expressions in x at points and over ranges.
namespace scalecalc::activation_room {

using symbolic::Interval;
using symbolic::Real;

/// The points [low, high]; the ends may be infinite.
Interval range(double low, double high, mpfr_prec_t bits);
Interval point(const Real& x);
/// Whatever the symbol is called. Both ends NaN where the expression has no real value.
Interval enclose_over(const Expr& expr, const Interval& x);

/// The sign at a point, with as many bits as it takes; 0 when 4096 bits show no other, and where
/// there is no real value.
int sign_at(const Expr& expr, const Real& x);
/// Whether the value is certainly below 10^-100.
bool may_vanish_at(const Expr& expr, const Real& x);
/// The nearest double (all but a few ties in a thousand million), NaN without a real value and
/// where 4096 bits do not settle it.
double value_at(const Expr& expr, const Real& x);
double value_at(const Expr& expr, double x);
/// Of an expression without symbols.
double constant_value(const Expr& expr);

Real real(double value, mpfr_prec_t bits = 64);
Real real(const Expr& constant, mpfr_prec_t bits);
std::string decimal(const Real& value, int digits);

}  // namespace scalecalc::activation_room
