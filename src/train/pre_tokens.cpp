#include "train/pre_tokens.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "train/unicode_classes.hpp"

namespace scalecalc::train_room {
namespace {

enum class CodeClass : std::uint8_t { letter, number, space, other };

template <std::size_t Count>
bool is_within(const CodeRange (&ranges)[Count], std::uint32_t code) {
  const CodeRange* next = std::ranges::upper_bound(ranges, code, {}, &CodeRange::first);
  return next != std::begin(ranges) && code <= std::prev(next)->last;
}

CodeClass class_in_lists(std::uint32_t code) {
  if (is_within(kLetters, code)) return CodeClass::letter;
  if (is_within(kNumbers, code)) return CodeClass::number;
  if (is_within(kSpaces, code)) return CodeClass::space;
  return CodeClass::other;
}

CodeClass class_of(std::uint32_t code) {
  static const auto ascii = [] {
    std::array<CodeClass, 128> classes{};
    for (std::uint32_t c = 0; c < classes.size(); ++c) classes[c] = class_in_lists(c);
    return classes;
  }();
  return code < ascii.size() ? ascii[code] : class_in_lists(code);
}

/// The end of all code points of one class from `at` on.
std::size_t run_end(std::string_view text, std::size_t at, CodeClass of) {
  while (at < text.size()) {
    const CodePoint next = code_point_at(text, at);
    if (class_of(next.value) != of) break;
    at += next.length;
  }
  return at;
}

/// 's|'t|'re|'ve|'m|'ll|'d: its length, or 0.
std::size_t contraction(std::string_view rest) {
  for (const std::string_view form : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (rest.starts_with(form)) return form.size();
  return 0;
}

/// The start of the last code point before `end`.
std::size_t last_start(std::string_view text, std::size_t end) {
  do --end;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || length > text.size() - at) return {};
  std::uint32_t code = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  if (code < kLeast[length] || code > 0x10FFFF || is_surrogate) return {};
  return {code, length};
}

std::size_t not_utf8_at(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = code_point_at(text, at).length;
    if (length == 0) break;
    at += length;
  }
  return at;
}

bool is_space(std::uint32_t code_point) {
  return class_of(code_point) == CodeClass::space;
}

std::size_t pre_token_end(std::string_view text, std::size_t at) {
  if (const std::size_t length = contraction(text.substr(at)); length > 0) return at + length;
  // A space goes with the word behind it.
  const std::size_t word = text[at] == ' ' && at + 1 < text.size() ? at + 1 : at;
  if (const CodeClass of = class_of(code_point_at(text, word).value); of != CodeClass::space)
    return run_end(text, word, of);
  const std::size_t end = run_end(text, at, CodeClass::space);
  if (end == text.size()) return end;
  // White space in front of a word, but for the last, which may go with that.
  const std::size_t last = last_start(text, end);
  return last > at ? last : end;
}

}  // namespace scalecalc::train_room
