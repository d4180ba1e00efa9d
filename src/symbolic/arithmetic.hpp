#pragma once

#include <algorithm>
#include <cmath>

#include "symbolic/real.hpp"

/// The primitives of the formula language for each number type. What is built on them is written
/// once, over the type.
namespace scalecalc::symbolic::arithmetic {

inline double exp(double x) {
  return std::exp(x);
}
inline double log(double x) {
  return std::log(x);
}
inline double sin(double x) {
  return std::sin(x);
}
inline double cos(double x) {
  return std::cos(x);
}
inline double tan(double x) {
  return std::tan(x);
}
inline double asin(double x) {
  return std::asin(x);
}
inline double acos(double x) {
  return std::acos(x);
}
inline double atan(double x) {
  return std::atan(x);
}
inline double sinh(double x) {
  return std::sinh(x);
}
inline double cosh(double x) {
  return std::cosh(x);
}
inline double tanh(double x) {
  return std::tanh(x);
}
inline double erf(double x) {
  return std::erf(x);
}
inline double erfc(double x) {
  return std::erfc(x);
}
inline double abs(double x) {
  return std::fabs(x);
}
inline double sign(double x) {
  return std::isnan(x) ? x : double((x > 0) - (x < 0));
}
inline double step(double x) {
  return 0.5 + 0.5 * sign(x);
}
inline double min(double a, double b) {
  return std::isnan(a) || a < b ? a : b;
}
inline double max(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}
/// No overflow on either side.
inline double sigmoid(double x) {
  const double small = std::exp(-std::fabs(x));
  return x < 0 ? small / (1 + small) : 1 / (1 + small);
}
inline double softplus(double x) {
  return max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}
/// The standard normal distribution function.
inline double phi(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}
inline double zero_like(double) {
  return 0;
}

Interval exp(const Interval& x);
Interval log(const Interval& x);
Interval sin(const Interval& x);
Interval cos(const Interval& x);
Interval tan(const Interval& x);
Interval asin(const Interval& x);
Interval acos(const Interval& x);
Interval atan(const Interval& x);
Interval sinh(const Interval& x);
Interval cosh(const Interval& x);
Interval tanh(const Interval& x);
Interval erf(const Interval& x);
Interval erfc(const Interval& x);
Interval abs(const Interval& x);
Interval sign(const Interval& x);
Interval step(const Interval& x);
Interval min(const Interval& a, const Interval& b);
Interval max(const Interval& a, const Interval& b);
Interval sigmoid(const Interval& x);
Interval softplus(const Interval& x);
Interval phi(const Interval& x);
inline Interval zero_like(const Interval& x) {
  return Interval(0, x.bits());
}

/// base^exponent; NaN for a negative base and an exponent that is not an integer.
double pow(double base, const Rational& exponent);
double pow(double base, double exponent);
Interval pow(const Interval& base, const Rational& exponent);
Interval pow(const Interval& base, const Interval& exponent);

template <class Number>
Number relu(const Number& x) {
  return max(x, zero_like(x));
}
template <class Number>
Number gelu(const Number& x) {
  return x * phi(x);
}
template <class Number>
Number silu(const Number& x) {
  return x * sigmoid(x);
}

}  // namespace scalecalc::symbolic::arithmetic
