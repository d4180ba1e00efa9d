#include "cli/plugins.hpp"

#include <filesystem>
#include <optional>
#include <utility>

namespace scalecalc::cli {
namespace {

std::optional<std::vector<std::string>>& package_folders() {
  static std::optional<std::vector<std::string>> own;
  return own;
}

}  // namespace

void use_plugin_folders(std::vector<std::string> folders) {
  package_folders() = std::move(folders);
}

std::vector<std::string> plugin_paths(const std::string& name) {
  if (package_folders()) {
    std::vector<std::string> paths;
    for (const std::filesystem::path folder : *package_folders()) paths.push_back(folder / name);
    return paths;
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const std::filesystem::path folder = program.parent_path();
  return {folder / name, (folder / SCALECALC_PLUGIN_DIR / name).lexically_normal()};
}

}  // namespace scalecalc::cli
