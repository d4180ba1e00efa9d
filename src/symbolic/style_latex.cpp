#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.hpp"
#include "symbolic/style.hpp"

namespace scalecalc::symbolic {

const Style& latex_style();

namespace {

constexpr std::array<std::string_view, 35> greek{
    "alpha", "beta",   "gamma",   "delta", "epsilon", "zeta",  "eta",   "theta",     "iota",
    "kappa", "lambda", "mu",      "nu",    "xi",      "rho",   "sigma", "tau",       "upsilon",
    "phi",   "chi",    "psi",     "omega", "Gamma",   "Delta", "Theta", "Lambda",    "Xi",
    "Pi",    "Sigma",  "Upsilon", "Phi",   "Psi",     "Omega", "ell",   "varepsilon"};

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

/// "\alpha": a command name that a following letter would join.
bool ends_with_command(const std::string& text) {
  std::size_t at = text.size();
  while (at > 0 && is_letter(text[at - 1])) --at;
  return at > 0 && at < text.size() && text[at - 1] == '\\';
}

std::string escaped_underscores(const std::string& name) {
  std::string text;
  for (char c : name) text += c == '_' ? "\\_" : std::string(1, c);
  return text;
}

std::string word(const std::string& name) {
  if (std::find(greek.begin(), greek.end(), name) != greek.end()) return "\\" + name;
  if (name.size() == 1 && name != "_") return name;
  return "\\mathrm{" + escaped_underscores(name) + "}";
}

/// x_1 and x1 carry an index; other underscores are part of the name.
std::string symbol_text(const std::string& name) {
  std::size_t digits = name.size();
  while (digits > 0 && base::is_digit(name[digits - 1])) --digits;
  std::size_t stem = digits;
  if (stem > 1 && name[stem - 1] == '_') --stem;
  if (digits < name.size() && stem > 0) {
    return word(name.substr(0, stem)) + "_{" + name.substr(digits) + "}";
  }
  const std::size_t underscore = name.find('_');
  if (underscore == std::string::npos || underscore == 0 || underscore + 1 == name.size()) {
    return word(name);
  }
  return word(name.substr(0, underscore)) + "_{" + word(name.substr(underscore + 1)) + "}";
}

class LatexStyle : public Style {
 public:
  Piece number(const Rational& value) const override {
    const NumberText text = number_text(value);
    if (text.denominator.empty()) return {text.numerator};
    return {"\\frac{" + text.numerator + "}{" + text.denominator + "}", Precedence::product};
  }
  Piece pi() const override { return {"\\pi"}; }
  Piece symbol(const std::string& name) const override { return {symbol_text(name)}; }

  Piece quotient(const std::vector<Piece>& numerator,
                 const std::vector<Piece>& denominator) const override {
    if (denominator.empty() && numerator.size() == 1) return numerator[0];
    const std::string top = numerator.empty() ? "1" : juxtaposed(numerator);
    if (denominator.empty()) return {top, Precedence::product};
    return {"\\frac{" + top + "}{" + juxtaposed(denominator) + "}", Precedence::product};
  }

  Piece power(const Piece& base, const Piece& exponent) const override {
    return {bracketed_below(base, Precedence::atom) + "^{" + exponent.text + "}",
            Precedence::power};
  }
  Piece power(const Piece& base, const Rational& exponent) const override {
    if (exponent == Rational(1, 2)) return {"\\sqrt{" + base.text + "}"};
    return power(base, Piece{exponent.to_string()});
  }

  Piece call(const Expr& function, const std::vector<Piece>& arguments) const override {
    const Function* row = function.node().function;
    const std::string own = "\\operatorname{" + escaped_underscores(function.name()) + "}";
    const std::string_view spelling = row ? row->latex : std::string_view(own);
    const std::size_t place = spelling.find('$');
    std::string list;
    for (const Piece& argument : arguments) list += (list.empty() ? "" : ", ") + argument.text;
    if (place == std::string_view::npos) {
      return {std::string(spelling) + "\\left(" + list + "\\right)"};
    }
    return {std::string(spelling.substr(0, place)) + list +
            std::string(spelling.substr(place + 1))};
  }

  std::string bracket(const Piece& piece) const override {
    return "\\left(" + piece.text + "\\right)";
  }

 private:
  std::string juxtaposed(const std::vector<Piece>& factors) const {
    std::string text;
    const bool alone = factors.size() == 1;
    for (const Piece& factor : factors) {
      const std::string next = alone ? factor.text : bracketed_below(factor, Precedence::product);
      if (!text.empty() && base::is_digit(next[0])) {
        text += " \\cdot ";
      } else if (!text.empty() && is_letter(next[0]) && ends_with_command(text)) {
        text += " ";
      }
      text += next;
    }
    return text;
  }
};

}  // namespace

const Style& latex_style() {
  static const LatexStyle latex;
  return latex;
}

}  // namespace scalecalc::symbolic
