#pragma once

#include <string>
#include <vector>

#include "symbolic/functions.hpp"

namespace scalecalc::symbolic {

enum class Precedence { sum, product, power, atom };

/// Written text and how tightly its outermost operation binds.
struct Piece {
  std::string text;
  Precedence precedence = Precedence::atom;
};

/// How one notation writes each operation.
class Style {
 public:
  virtual ~Style() = default;

  virtual Piece number(const Rational& value) const = 0;  ///< not negative
  virtual Piece pi() const = 0;
  virtual Piece symbol(const std::string& name) const = 0;
  /// Of factors with a denominator, either possibly empty.
  virtual Piece quotient(const std::vector<Piece>& numerator,
                         const std::vector<Piece>& denominator) const = 0;
  virtual Piece power(const Piece& base, const Piece& exponent) const = 0;
  virtual Piece power(const Piece& base, const Rational& exponent) const = 0;
  virtual Piece call(const Expr& function, const std::vector<Piece>& arguments) const = 0;
  virtual std::string bracket(const Piece& piece) const = 0;

  std::string bracketed_below(const Piece& piece, Precedence least) const;
};

const Style& style(Notation notation);

/// The spelling with every $ replaced by the bracketed argument; a spelling without $ is called by
/// its name. Throws Error(input) past a megabyte.
Piece fill(std::string_view spelling, const std::vector<Piece>& arguments, const Style& style);

/// 3, 3/4, and decimals where a denominator is a long power of ten.
struct NumberText {
  std::string numerator, denominator;  ///< the denominator empty for integers and decimals
};
NumberText number_text(const Rational& value);

}  // namespace scalecalc::symbolic
