#include "cli/plugins.hpp"

#include <filesystem>

namespace scalecalc::cli {

std::vector<std::string> plugin_paths(const std::string& name) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const std::filesystem::path folder = program.parent_path();
  return {folder / name, (folder / SCALECALC_PLUGIN_DIR / name).lexically_normal()};
}

}  // namespace scalecalc::cli
