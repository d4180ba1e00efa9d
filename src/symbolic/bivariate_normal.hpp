#pragma once

#include "symbolic/functions.hpp"
#include "symbolic/real.hpp"

/// Owen's T function and the bivariate normal distribution function.
namespace scalecalc::symbolic {
namespace arithmetic {

/// T(h, a) = 1/(2 pi) int_0^a exp(-h^2 (1 + x^2)/2)/(1 + x^2) dx. Relative error of a few epsilon.
double owens_t(double h, double a);
long double owens_t(long double h, long double a);
Interval owens_t(const Interval& h, const Interval& a);
/// Phi(-h)/2 - T(h, a) = 1/(2 pi) int_a^infinity exp(-h^2 (1 + x^2)/2)/(1 + x^2) dx for h > 0,
/// without cancellation.
Interval owens_t_complement(const Interval& h, const Interval& a);

/// P(X < h, Y < k) for standard normal X and Y of correlation r, -1 <= r <= 1. The numbers are off
/// by a few epsilon of 1.
double phi2(double h, double k, double r);
long double phi2(long double h, long double k, long double r);
Interval phi2(const Interval& h, const Interval& k, const Interval& r);

}  // namespace arithmetic

/// The rows owens_t(h, a) and Phi2(h, k, r) of the formula language.
Function owens_t_function();
Function phi2_function();

}  // namespace scalecalc::symbolic
