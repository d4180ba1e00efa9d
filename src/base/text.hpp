#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scalecalc::base {

/// 0 to 9.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
/// A to Z, a to z and _.
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// One character of UTF-8 text (RFC 3629: no overlong forms, no surrogates, nothing beyond
/// U+10FFFF); an invalid byte counts as a character of its own.
struct Character {
  std::size_t bytes = 1;
  bool valid = true;
};
Character character_at(std::string_view text, std::size_t at);

/// The text on one line: control characters and invalid bytes become '?'.
std::string printable(std::string_view text);
/// At most `count` characters of the printable text, "..." marking the cut.
std::string shortened(std::string_view text, std::size_t count = 80);
/// Letters, digits and _, not beginning with a digit.
bool is_identifier(std::string_view name);

}  // namespace scalecalc::base
