#include "claims/tokens.hpp"

#include <array>

#include "base/text.hpp"

namespace scalecalc::claims {
namespace {

using symbolic::Token;

constexpr std::array<std::string_view, 19> signs = {"==", "~=", "<=", ">=", "<", ">", "+",
                                                    "-",  "*",  "/",  "^",  "(", ")", "[",
                                                    "]",  ",",  "=",  "%",  "."};
constexpr symbolic::Lexicon assertions{
    .blanks = " \t\n\r", .signs = signs, .quotes = true, .primes = true, .dots = true};

[[noreturn]] void reject(const Token& token, const Place& place) {
  const char c = token.text[0];
  if (c == '"' || c == '\'') {
    refuse(place, token.column, "a quoted text without its end", std::string("close it with ") + c);
  }
  std::string hint = "an assertion is made of numbers, names, + - * / ^ ( ) [ ] , and a comparison";
  if (c == '!') hint = "write fails = true beside an assertion that does not hold";
  const bool valid = base::character_at(token.text, 0).valid;
  refuse(place, token.column,
         valid ? "unexpected '" + base::printable(token.text) + "'" : "a byte that is not UTF-8",
         hint);
}

}  // namespace

std::string Place::at(int offset) const {
  return file + ":" + std::to_string(line) + ":" + std::to_string(column + offset - 1);
}

void refuse(const Place& place, int column, const std::string& what, const std::string& hint) {
  throw PlacedError(ErrorKind::input, what, place.at(column), hint);
}

symbolic::Tokens assertion_tokens(std::string_view text, const Place& place) {
  return symbolic::Tokens(text, assertions, [&place](const Token& token) { reject(token, place); });
}

}  // namespace scalecalc::claims
