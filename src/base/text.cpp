#include "base/text.hpp"

namespace scalecalc::base {
namespace {

std::size_t announced_bytes(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

/// The first two bytes of an overlong form, of a surrogate, or of what is beyond U+10FFFF.
bool is_refused(unsigned char first, unsigned char second) {
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool outside = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || outside;
}

}  // namespace

Character character_at(std::string_view text, std::size_t at) {
  const std::size_t bytes = announced_bytes(static_cast<unsigned char>(text[at]));
  if (bytes == 0 || at + bytes > text.size()) return {1, false};
  for (std::size_t k = 1; k < bytes; ++k) {
    if ((static_cast<unsigned char>(text[at + k]) & 0xC0) != 0x80) return {1, false};
  }
  if (bytes > 2 &&
      is_refused(static_cast<unsigned char>(text[at]), static_cast<unsigned char>(text[at + 1])))
    return {1, false};
  return {bytes, true};
}

std::string printable(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    const unsigned char lead = static_cast<unsigned char>(text[at]);
    // C1 controls (0xC2 0x80..0x9F) would reach a terminal as commands.
    const bool control =
        lead < 0x20 || lead == 0x7F ||
        (next.bytes == 2 && lead == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0);
    if (!next.valid || control) {
      line += '?';
    } else {
      line += text.substr(at, next.bytes);
    }
    at += next.bytes;
  }
  return line;
}

std::string shortened(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (std::size_t seen = 0; seen < count && at < text.size(); ++seen) {
    at += character_at(text, at).bytes;
  }
  return printable(text.substr(0, at)) + (at < text.size() ? "..." : "");
}

bool is_identifier(std::string_view name) {
  if (name.empty() || !is_letter(name[0])) return false;
  for (char c : name) {
    if (!is_letter(c) && !is_digit(c)) return false;
  }
  return true;
}

}  // namespace scalecalc::base
