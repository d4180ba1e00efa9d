#include "cli/value_type.hpp"

#include "scalecalc/activation.hpp"
#include "scalecalc/names.hpp"
#include "scalecalc/network.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/transfer.hpp"

namespace scalecalc::cli {
namespace {

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return names;
}

}  // namespace

ValueType list_of(ValueType type) {
  type.placeholder += ",...";
  type.is_list = true;
  return type;
}

namespace types {

ValueType file() {
  return {"FILE", ValueType::Names(), ValueType::Path::file};
}
ValueType folder() {
  return {"DIR", ValueType::Names(), ValueType::Path::folder};
}
ValueType model() {
  return {"MODEL", preset_names, ValueType::Path::file};
}
ValueType optimizer() {
  return {"OPTIMIZER", family_names};
}
ValueType placement() {
  return {"PLACEMENT", placement_names};
}
ValueType parametrization() {
  return {"NAME", parametrization_names, ValueType::Path::file};
}
ValueType activation() {
  return {"ACTIVATION", activation_names};
}
ValueType naming() {
  return {"NAMES", [] {
            std::vector<std::string> names = naming_names();
            names.insert(names.begin(), "hf");
            return names;
          }};
}

}  // namespace types

std::string alternatives(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (k > 0) text += k + 1 == names.size() ? " or " : ", ";
    text += names[k];
  }
  return text;
}

}  // namespace scalecalc::cli
