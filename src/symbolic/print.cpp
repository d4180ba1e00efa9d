#include <algorithm>

#include "symbolic/layout.hpp"
#include "symbolic/style.hpp"

namespace scalecalc {
namespace symbolic {
namespace {

using Kind = Expr::Kind;

struct SignedPiece {
  bool minus = false;
  Piece piece;
};

class Printer {
 public:
  explicit Printer(const Style& style) : style_(style) {}

  Piece print(const Expr& expr) const {
    if (expr.kind() == Kind::sum) return sum(expr);
    SignedPiece written = term(expr);
    if (!written.minus) return std::move(written.piece);
    return {"-" + written.piece.text, Precedence::sum};
  }

 private:
  /// The first positive term leads, and what stood before it follows at the end: x + y - 1.
  Piece sum(const Expr& expr) const {
    std::vector<SignedPiece> terms;
    for (const Expr& operand : expr.operands()) terms.push_back(term(operand));
    const auto lead = std::find_if(terms.begin(), terms.end(),
                                   [](const SignedPiece& next) { return !next.minus; });
    if (lead != terms.end()) std::rotate(terms.begin(), lead, terms.end());
    std::string text = (terms[0].minus ? "-" : "") + terms[0].piece.text;
    for (std::size_t k = 1; k < terms.size(); ++k) {
      text += (terms[k].minus ? " - " : " + ") + terms[k].piece.text;
    }
    return {std::move(text), Precedence::sum};
  }

  SignedPiece term(const Expr& expr) const {
    switch (expr.kind()) {
      case Kind::number: {
        const bool minus = expr.number().sign() < 0;
        return {minus, style_.number(minus ? -expr.number() : expr.number())};
      }
      case Kind::constant: return {false, style_.pi()};
      case Kind::symbol: return {false, style_.symbol(expr.name())};
      case Kind::function: {
        std::vector<Piece> arguments;
        for (const Expr& operand : expr.operands()) arguments.push_back(print(operand));
        return {false, style_.call(expr, arguments)};
      }
      default: return product(lay_out(expr));
    }
  }

  /// A factor that the layout left by itself.
  Piece factor(const Expr& expr) const {
    if (expr.kind() != Kind::power) return print(expr);
    const Expr &base = expr.operands()[0], &exponent = expr.operands()[1];
    if (exponent.is_number()) return style_.power(print(base), exponent.number());
    return style_.power(print(base), print(exponent));
  }

  Piece inner(const Inner& part) const {
    const Piece base = print(part.base);
    return part.exponent.is_one() ? base : style_.power(base, part.exponent);
  }

  /// (a/b)^(p/q); when all is below, the exponent carries the sign.
  Piece group(const RadicalGroup& group) const {
    std::vector<Piece> above, below;
    for (const Inner& part : group.numerator) above.push_back(inner(part));
    for (const Inner& part : group.denominator) below.push_back(inner(part));
    if (above.empty()) above.swap(below);
    const bool alone = below.empty() && above.size() == 1;
    const Inner& first = group.numerator.empty() ? group.denominator[0] : group.numerator[0];
    if (alone && !first.exponent.is_one()) {
      return style_.power(print(first.base), first.exponent * group.exponent);
    }
    return style_.power(style_.quotient(above, below), group.exponent);
  }

  SignedPiece product(const ProductLayout& layout) const {
    std::vector<Piece> above, below;
    for (std::size_t k = 0; k <= layout.numerator.size(); ++k) {
      if (k == layout.group_place) place_groups(layout, false, above);
      if (k < layout.numerator.size()) above.push_back(factor(layout.numerator[k]));
    }
    for (const Expr& next : layout.denominator) below.push_back(factor(next));
    place_groups(layout, true, below);
    place_coefficient(layout.coefficient, above, below);
    return {layout.minus, style_.quotient(above, below)};
  }

  /// x*(2*pi)^(-1/2), but x/(y*(2*pi)^(1/2)) beside another denominator.
  static bool sinks(const RadicalGroup& group, const ProductLayout& layout) {
    return group.exponent.sign() < 0 && !layout.denominator.empty();
  }

  void place_groups(const ProductLayout& layout, bool sunk, std::vector<Piece>& target) const {
    for (RadicalGroup next : layout.groups) {
      if (sinks(next, layout) != sunk) continue;
      if (sunk) next.exponent = -next.exponent;
      target.push_back(group(next));
    }
  }

  /// 81/100*x, but x/2 and 3*x/(4*y).
  void place_coefficient(const Rational& coefficient, std::vector<Piece>& above,
                         std::vector<Piece>& below) const {
    if (coefficient.is_one()) return;
    const Piece whole = style_.number(coefficient);
    const bool fraction = whole.precedence != Precedence::atom;
    const bool leading = !fraction || (below.empty() && !coefficient.numerator().is_one());
    if (leading) {
      above.insert(above.begin(), whole);
      return;
    }
    if (!coefficient.numerator().is_one()) {
      above.insert(above.begin(), style_.number(coefficient.numerator()));
    }
    below.insert(below.begin(), style_.number(coefficient.denominator()));
  }

  const Style& style_;
};

}  // namespace
}  // namespace symbolic

std::string to_string(const Expr& expr, Notation notation) {
  return symbolic::Printer(symbolic::style(notation)).print(expr).text;
}

}  // namespace scalecalc
