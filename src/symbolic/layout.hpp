#pragma once

#include <string>
#include <vector>

#include "symbolic/canonical.hpp"

namespace scalecalc::symbolic {

/// base^exponent inside a radical; the base is a number or an expression.
struct Inner {
  Expr base;
  Rational exponent;  ///< positive
};
/// (numerator/denominator)^exponent: the factors that share a fractional power.
struct RadicalGroup {
  std::vector<Inner> numerator, denominator;
  Rational exponent;
};
/// How a product is written: sign * coefficient * powers * group / (...).
struct ProductLayout {
  bool minus = false;
  Rational coefficient = 1;                  ///< positive
  std::vector<Expr> numerator, denominator;  ///< each a factor by itself
  std::vector<RadicalGroup> groups;          ///< all in the numerator, exponents of either sign
  std::size_t group_place = 0;               ///< how many of the numerator stand before the groups
};
/// Of any expression but a sum: the grouping is chosen as a person would write it, and parses back
/// to the same canonical form.
ProductLayout lay_out(const Expr& expr);

}  // namespace scalecalc::symbolic
