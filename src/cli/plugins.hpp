#pragma once

#include <string>
#include <vector>

namespace scalecalc::cli {

/// Where the program's plug-in of this file name may lie: beside the program, as a build has it,
/// and where its installation puts libraries. Absolute paths, by the program's own file: neither
/// the working directory nor the environment counts.
std::vector<std::string> plugin_paths(const std::string& name);

}  // namespace scalecalc::cli
