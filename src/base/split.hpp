#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scalecalc::base {

/// The parts between the separators, as they stand: one more than there are separators, and any
/// may be empty.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace scalecalc::base
