#include "network/presets.hpp"

#include <filesystem>

namespace scalecalc {
namespace {

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return names;
}

/// A name with neither folder nor extension can only be meant as a preset's, unless a file has it.
bool is_path(const std::string& name) {
  std::error_code code;
  return name.find_first_of("/.") != std::string::npos || name.find('\0') != std::string::npos ||
         name.empty() || std::filesystem::exists(name, code);
}

}  // namespace

const std::vector<Preset>& presets() {
  return embedded_presets();
}

const Preset& preset(std::string_view name, const std::string& where) {
  for (const Preset& preset : presets())
    if (preset.name == name) return preset;
  throw unknown_name("preset", name, preset_names(), where);
}

ModelSpec find_model(const std::string& name_or_path, const ConfigReader& configs) {
  for (const Preset& preset : presets())
    if (preset.name == name_or_path) return parse_model(preset.toml, preset.name);
  if (is_path(name_or_path)) return read_model(name_or_path, configs);
  throw unknown_name("preset or model file", name_or_path, preset_names(), "MODEL");
}

}  // namespace scalecalc
