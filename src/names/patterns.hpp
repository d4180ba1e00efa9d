#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scalecalc::names {

/// Whether the text begins with {i} or the like.
bool is_index(std::string_view text);

/// "block[3].attn[0].q" as "block[{i}].attn[{j}].q" with 3 and 0.
std::pair<std::string, std::vector<std::int64_t>> without_indices(const std::string& path);

/// Where numbers of a tensor's name stand: at its beginning, and behind dots.
std::vector<std::size_t> numbers_of(const std::string& name);
/// The text with the number at that place as {i}; empty where another number stands there.
std::string with_index(const std::string& text, std::size_t at, std::int64_t number);

}  // namespace scalecalc::names
