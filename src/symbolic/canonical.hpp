#pragma once

#include <utility>
#include <vector>

#include "symbolic/node.hpp"

namespace scalecalc::symbolic {

/// The canonical n-ary sum and product.
Expr add(const std::vector<Expr>& terms);
Expr multiply(const std::vector<Expr>& factors);
/// The same operation on other operands, in canonical form.
Expr rebuild(const Expr& expr, std::vector<Expr> operands);

/// expr = coefficient * rest, the rest without a numeric factor (1 for a number).
struct Scaled {
  Rational coefficient;
  Expr rest;
};
Scaled split_coefficient(const Expr& expr);
/// coefficient * rest for a rest that split_coefficient gave.
Expr scaled(const Rational& coefficient, const Expr& rest);

/// sum = content * primitive: the coefficients of the primitive part are integers without a common
/// divisor. With `signed_content`, exactly one of s and -s is primitive: the one with fewer minus
/// signs, then the one whose first term is positive.
struct Content {
  Rational content;
  Expr primitive;
};
Content split_content(const Expr& sum, bool signed_content);
/// Whether -expr is the one of the pair that the canonical form prefers.
bool prefers_opposite(const Expr& expr);

/// A positive integer base to a rational exponent.
struct Radical {
  Rational base, exponent;
};
/// base^exponent for base > 0 as rational * radicals with exponents in (0, 1), reduced to prime
/// factors; factors without a prime divisor below 2^14 stay whole.
void factor_power(const Rational& base, const Rational& exponent, std::vector<Radical>& radicals);
/// Merges equal bases, moves integer parts into the coefficient, sorts.
void merge_radicals(std::vector<Radical>& radicals, Rational& coefficient);
/// base^exponent for numbers. Throws Error(input) where no real value exists.
Expr number_power(const Rational& base, const Rational& exponent);

}  // namespace scalecalc::symbolic
