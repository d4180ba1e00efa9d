#include <algorithm>
#include <array>

#include "symbolic/style.hpp"

namespace scalecalc::symbolic {
namespace {

std::string joined(const std::vector<Piece>& factors, const Style& style) {
  std::string text;
  for (std::size_t k = 0; k < factors.size(); ++k) {
    // The first factor may itself be a quotient: 3/4*x is (3/4)*x.
    const Precedence least = k == 0 ? Precedence::product : Precedence::power;
    text += (k ? "*" : "") + style.bracketed_below(factors[k], least);
  }
  return text;
}

/// Operators on one line, as text, Python and C write them.
class LineStyle : public Style {
 public:
  Piece number(const Rational& value) const override {
    const NumberText text = number_text(value);
    const std::string top = literal(text.numerator);
    if (text.denominator.empty()) return {top, Precedence::atom};
    return {top + "/" + literal(text.denominator), Precedence::product};
  }

  Piece quotient(const std::vector<Piece>& numerator,
                 const std::vector<Piece>& denominator) const override {
    if (denominator.empty() && numerator.size() == 1) return numerator[0];
    const std::string top = numerator.empty() ? literal("1") : joined(numerator, *this);
    if (denominator.empty()) return {top, Precedence::product};
    const std::string below = denominator.size() == 1
                                  ? bracketed_below(denominator[0], Precedence::power)
                                  : "(" + joined(denominator, *this) + ")";
    return {top + "/" + below, Precedence::product};
  }

  std::string bracket(const Piece& piece) const override { return "(" + piece.text + ")"; }

 protected:
  virtual std::string literal(const std::string& digits) const { return digits; }

  Piece signed_number(const Rational& value) const {
    if (value.sign() >= 0) return number(value);
    return {"-" + number(-value).text, Precedence::sum};
  }

  Piece raised(const Piece& base, const char* sign, const Piece& exponent) const {
    return {bracketed_below(base, Precedence::atom) + sign +
                bracketed_below(exponent, Precedence::atom),
            Precedence::power};
  }
};

class TextStyle : public LineStyle {
 public:
  Piece pi() const override { return {"pi"}; }
  Piece symbol(const std::string& name) const override { return {name}; }
  Piece power(const Piece& base, const Piece& exponent) const override {
    return raised(base, "^", exponent);
  }
  Piece power(const Piece& base, const Rational& exponent) const override {
    return raised(base, "^", signed_number(exponent));
  }
  Piece call(const Expr& function, const std::vector<Piece>& arguments) const override {
    return fill(function.name(), arguments, *this);
  }
};

/// Names that a language keeps for itself get an underscore, and so do those that would then
/// collide with them.
template <std::size_t count>
std::string escaped(const std::string& name, const std::array<std::string_view, count>& reserved) {
  std::string_view stem = name;
  while (!stem.empty() && stem.back() == '_') stem.remove_suffix(1);
  const bool taken = std::find(reserved.begin(), reserved.end(), stem) != reserved.end();
  return taken ? name + "_" : name;
}

constexpr std::array<std::string_view, 39> python_words{
    "False",   "None",     "True",     "and",    "as",   "assert", "async",  "await",
    "break",   "class",    "continue", "def",    "del",  "elif",   "else",   "except",
    "finally", "for",      "from",     "global", "if",   "import", "in",     "is",
    "lambda",  "nonlocal", "not",      "or",     "pass", "raise",  "return", "try",
    "while",   "with",     "yield",    "math",   "abs",  "min",    "max"};

class PythonStyle : public LineStyle {
 public:
  Piece pi() const override { return {"math.pi"}; }
  Piece symbol(const std::string& name) const override { return {escaped(name, python_words)}; }
  Piece power(const Piece& base, const Piece& exponent) const override {
    return raised(base, "**", exponent);
  }
  Piece power(const Piece& base, const Rational& exponent) const override {
    return raised(base, "**", signed_number(exponent));
  }
  Piece call(const Expr& function, const std::vector<Piece>& arguments) const override {
    const Function* row = function.node().function;
    return fill(row ? row->python : function.name(), arguments, *this);
  }
};

constexpr std::array<std::string_view, 64> c_words{
    "auto",     "break",    "case",     "char",      "const",    "continue", "default",  "do",
    "double",   "else",     "enum",     "extern",    "float",    "for",      "goto",     "if",
    "inline",   "int",      "long",     "register",  "restrict", "return",   "short",    "signed",
    "sizeof",   "static",   "struct",   "switch",    "typedef",  "union",    "unsigned", "void",
    "volatile", "while",    "bool",     "true",      "false",    "class",    "new",      "delete",
    "this",     "template", "typename", "namespace", "operator", "private",  "public",   "try",
    "catch",    "throw",    "using",    "and",       "or",       "not",      "pow",      "sqrt",
    "exp",      "log",      "fabs",     "fmin",      "fmax",     "erf",      "erfc",     "tanh"};

class CStyle : public LineStyle {
 public:
  Piece pi() const override { return {"3.14159265358979323846"}; }
  Piece symbol(const std::string& name) const override { return {escaped(name, c_words)}; }
  Piece power(const Piece& base, const Piece& exponent) const override {
    return {"pow(" + base.text + ", " + exponent.text + ")"};
  }
  Piece power(const Piece& base, const Rational& exponent) const override {
    if (exponent == Rational(1, 2)) return {"sqrt(" + base.text + ")"};
    return power(base, signed_number(exponent));
  }
  Piece call(const Expr& function, const std::vector<Piece>& arguments) const override {
    const Function* row = function.node().function;
    const std::string_view name = row ? row->c : std::string_view(function.name());
    const bool nests = !row || row->least_arguments < row->most_arguments;
    if (arguments.size() <= 2 || !nests) return fill(name, arguments, *this);
    Piece nested = arguments.back();
    for (std::size_t k = arguments.size() - 1; k-- > 0;) {
      nested = fill(name, {arguments[k], nested}, *this);
    }
    return nested;
  }

 protected:
  /// Double literals: 1/4 between integers would be 0.
  std::string literal(const std::string& digits) const override {
    return digits.find('.') == std::string::npos ? digits + ".0" : digits;
  }
};

}  // namespace

const Style& latex_style();

const Style& style(Notation notation) {
  static const TextStyle text;
  static const PythonStyle python;
  static const CStyle c;
  switch (notation) {
    case Notation::text: return text;
    case Notation::python: return python;
    case Notation::c: return c;
    case Notation::latex: break;
  }
  return latex_style();
}

}  // namespace scalecalc::symbolic
