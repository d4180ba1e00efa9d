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

}  // namespace scalecalc::names
