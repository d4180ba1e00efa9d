#pragma once

#include <string>
#include <vector>

#include "gaussian/closed_form/polynomial.hpp"

namespace scalecalc::gaussian {

/// A quotient of polynomials in lowest terms; the denominator is primitive.
class Ratio {
 public:
  Ratio(std::int64_t value = 0) : numerator_(value), denominator_(1) {}
  Ratio(const Rational& value) : numerator_(value), denominator_(1) {}
  Ratio(Polynomial numerator) : numerator_(std::move(numerator)), denominator_(1) {}
  /// Throws Error(input) for a denominator of 0.
  Ratio(Polynomial numerator, Polynomial denominator);

  const Polynomial& numerator() const { return numerator_; }
  const Polynomial& denominator() const { return denominator_; }
  bool is_zero() const { return numerator_.is_zero(); }
  bool is_constant() const { return numerator_.is_constant() && denominator_.is_one(); }

  Ratio operator-() const;
  friend Ratio operator+(const Ratio&, const Ratio&);
  friend Ratio operator-(const Ratio&, const Ratio&);
  friend Ratio operator*(const Ratio&, const Ratio&);
  friend Ratio operator/(const Ratio&, const Ratio&);
  friend bool operator==(const Ratio&, const Ratio&);
  friend bool operator<(const Ratio&, const Ratio&);  ///< an order, not that of values

 private:
  Polynomial numerator_, denominator_;
};

/// sqrt(value) = outside * sqrt(number) * sqrt(inside): the inside is a square-free polynomial
/// without numeric factor.
struct SquareRoot {
  Ratio outside;
  Rational number;
  Polynomial inside;
};
SquareRoot square_root(const Ratio& value);

/// What the variables of the polynomials stand for: q, mu, c, and constants that are no rational
/// numbers (log(2), sqrt(2)).
class Ring {
 public:
  Ring();

  Ratio q() const { return Polynomial::variable(0); }
  Ratio mu() const { return Polynomial::variable(1); }
  Ratio c() const { return Polynomial::variable(2); }
  /// A constant expression. Throws NoForm when there are too many kinds of them.
  Ratio constant(const Expr& value);

  Expr expression(const Polynomial& value) const;
  Expr expression(const Ratio& value) const;
  /// Numerator and denominator in powers of the members of the base.
  Expr expression(const Ratio& value, const CoprimeBase& base) const;
  Expr root(const Ratio& value) const;

 private:
  Ratio opaque(const Expr& value);
  std::vector<Expr> variables_;
};

/// Why no formula exists; never leaves the room.
struct NoForm {
  std::string reason;
};

}  // namespace scalecalc::gaussian
