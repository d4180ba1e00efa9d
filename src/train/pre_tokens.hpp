#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// How GPT-2 cuts a text into words before pairs are merged: its pattern
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// written by hand over the classes of unicode_classes.hpp.
namespace scalecalc::train_room {

/// One code point of UTF-8 and its length in bytes; length 0 where there is none: an overlong form,
/// a surrogate, one above U+10FFFF, bytes that are missing.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;
};
CodePoint code_point_at(std::string_view text, std::size_t at);
/// The first byte that begins no code point; text.size() where the text is UTF-8.
std::size_t not_utf8_at(std::string_view text);

bool is_space(std::uint32_t code_point);
/// The end of the word that begins at `at`, which lies before the end of a text in UTF-8.
std::size_t pre_token_end(std::string_view text, std::size_t at);

}  // namespace scalecalc::train_room
