#pragma once

#include <string>
#include <string_view>

#include "scalecalc/error.hpp"

namespace scalecalc::base {

/// The text of a file, of a pipe or device as well: at most 1 MiB of UTF-8. `what` names such files
/// in messages ("model file"). Throws Error(input).
std::string read_text_file(const std::string& path, const std::string& what);
/// Throws Error(input) for a text that is too large or not UTF-8, at its line and column.
void check_text(std::string_view text, const std::string& name, const std::string& what);

/// Whether a file that begins so is what torch.save and numpy write: a zip archive, or a pickle.
bool is_pickled(std::string_view begin);
/// Of a file that torch.save made.
Error pickled_file(const std::string& name);

}  // namespace scalecalc::base
