#pragma once

#include <string>
#include <vector>

namespace scalecalc::train_room {

/// All text of files and folders, as read_corpus() takes it. Throws Error(input).
std::string read_texts(const std::vector<std::string>& paths);
/// "a.txt", "a.txt and 2 more".
std::string name_of_texts(const std::vector<std::string>& paths);

}  // namespace scalecalc::train_room
