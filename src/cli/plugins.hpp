#pragma once

#include <string>
#include <vector>

namespace scalecalc::cli {

/// Where plug-ins of a package lie whose files are not installed as the program's are: absolute
/// folders, in place of those by the program's own file. Called once, before any of the others.
void use_plugin_folders(std::vector<std::string> folders);

/// Where the program's plug-in of this file name may lie: beside the program, as a build has it,
/// and where its installation puts libraries; or in the folders of its package. Absolute paths, by
/// own files: neither the working directory nor the environment counts.
std::vector<std::string> plugin_paths(const std::string& name);

}  // namespace scalecalc::cli
