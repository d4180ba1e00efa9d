#include "symbolic/tokens.hpp"

#include <array>
#include <utility>

#include "base/text.hpp"

namespace scalecalc::symbolic {
namespace {

constexpr std::array<std::string_view, 8> signs = {"+", "-", "*", "/", "^", "(", ")", ","};
constexpr Lexicon formulas{.blanks = " \t\n", .signs = signs};

/// What people paste, and what to write instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> replacements{{
    {"\u2212", "-"},
    {"\u2013", "-"},
    {"\u00d7", "*"},
    {"\u00b7", "*"},
    {"\u00f7", "/"},
    {"\u03c0", "pi"},
    {"\u03b1", "alpha"},
    {"\u03bb", "lambda"},
    {"\u03a6", "Phi"},
    {"\u221a", "sqrt"},
    {"\u00b2", "^2"},
    {"\u00b3", "^3"},
    {"\u03b7", "eta"},
    {"\u03b8", "theta"},
    {"\u03b3", "gamma"},
    {"[", "("},
}};

[[noreturn]] void reject(const Token& token) {
  std::string hint = "a formula is made of numbers, names, + - * / ^ ( ) and ,";
  for (const auto& [character, instead] : replacements) {
    if (character == token.text) hint = "write " + std::string(instead);
  }
  const bool valid = base::character_at(token.text, 0).valid;
  const std::string what =
      valid ? "'" + base::printable(token.text) + "'" : std::string("a byte that is not UTF-8");
  throw Failure{token.column, "unexpected " + what, hint};
}

}  // namespace

Tokens formula_tokens(std::string_view text) {
  return Tokens(text, formulas, reject);
}

}  // namespace scalecalc::symbolic
