#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "scalecalc/symbolic.hpp"

namespace scalecalc::gaussian {

/// A sparse polynomial with rational coefficients in a few variables, known by their index.
class Polynomial {
 public:
  static constexpr std::size_t most_variables = 8;
  using Exponents = std::array<std::uint16_t, most_variables>;
  using Terms = std::map<Exponents, Rational, std::greater<>>;  ///< leading term first

  Polynomial() = default;
  Polynomial(const Rational& value);
  Polynomial(std::int64_t value) : Polynomial(Rational(value)) {}
  static Polynomial variable(std::size_t index);
  static Polynomial term(const Exponents& exponents, const Rational& coefficient);

  const Terms& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  bool is_constant() const;
  bool is_one() const;
  /// The value of a constant.
  Rational constant() const;
  int degree(std::size_t variable) const;
  /// The last variable that occurs; none in a constant.
  std::optional<std::size_t> main_variable() const;
  /// The coefficient of variable^power, a polynomial in the others.
  Polynomial coefficient(std::size_t variable, int power) const;
  Polynomial derivative(std::size_t variable) const;

  Polynomial operator-() const;
  friend Polynomial operator+(const Polynomial&, const Polynomial&);
  friend Polynomial operator-(const Polynomial&, const Polynomial&);
  /// Throws Error(input) for a degree past 16 bits.
  friend Polynomial operator*(const Polynomial&, const Polynomial&);
  friend bool operator==(const Polynomial&, const Polynomial&);
  friend bool operator<(const Polynomial&, const Polynomial&);

 private:
  void add(const Exponents& exponents, const Rational& coefficient);
  Terms terms_;
};

/// a/b, when b divides a.
std::optional<Polynomial> divide(const Polynomial& a, const Polynomial& b);
/// Primitive; 1 when the two have no common factor.
Polynomial common_factor(const Polynomial& a, const Polynomial& b);

struct Factor {
  Polynomial base;
  int power = 1;
};
/// The same with a product of square-free factors that share none among themselves; much faster for
/// high powers.
Polynomial common_factor(Polynomial a, const std::vector<Factor>& factors);

/// value = content * part: the part has integer coefficients without a common divisor, and its last
/// term, mostly the constant one, is positive: 1 - c^2 and not c^2 - 1.
struct PrimitivePart {
  Rational content;
  Polynomial part;
};
PrimitivePart primitive_part(const Polynomial& value);

/// The square-free factors of a primitive polynomial, pairwise without common factors.
std::vector<Factor> square_free(const Polynomial& value);

/// Polynomials without common factors, refined as more come in; whatever was added is a product of
/// powers of them.
class CoprimeBase {
 public:
  void add(const Polynomial& value);
  /// value = content * product of the factors; what the base does not hold stays whole.
  struct Factored {
    Rational content;
    std::vector<Factor> factors;
  };
  Factored factor(const Polynomial& value) const;

 private:
  void refine(Polynomial value);
  std::vector<Polynomial> members_;
};

}  // namespace scalecalc::gaussian
