#include <algorithm>

#include "network/model_keys.hpp"
#include "network/weights.hpp"

namespace scalecalc {
namespace {

using Init = ModelSpec::Init;

void read_scheme(Reading& model, const TomlEntry& entry) {
  Init& init = model.spec.init;
  if (std::holds_alternative<std::string>(entry.value)) {
    init.scheme = text_of(entry);
    if (init.scheme == "std" || init.scheme == "weight_variance")
      throw unknown_name("scheme", init.scheme, scheme_names(), entry.where);
    return;
  }
  if (!std::holds_alternative<TomlTable>(entry.value))
    throw Error(ErrorKind::input, "scheme must be a string or { std = ... }, got " + entry.type,
                entry.where, "for example scheme = \"lecun\" or scheme = { std = 0.02 }");
  const TomlTable& table = table_of(entry);
  if (table.empty())
    throw Error(ErrorKind::input, "scheme is an empty table", entry.where,
                "for example scheme = { std = 0.02 }");
  for (const TomlEntry& inner : table) {
    if (inner.key != "std") throw unknown_name("key", inner.key, {"std"}, inner.where);
    init.scheme = "std";
    init.std = number_of(inner);
    model.given["init.scheme.std"] = inner;
  }
}

void read_weight_variance(Reading& model, const TomlEntry& entry) {
  model.spec.init.scheme = "weight_variance";
  model.spec.init.weight_variance = number_of(entry);
}

void read_gain(Reading& model, const TomlEntry& entry) {
  const std::vector<std::string>& roles = gain_roles(model.spec.kind);
  for (const TomlEntry& inner : table_of(entry)) {
    if (std::find(roles.begin(), roles.end(), inner.key) == roles.end())
      throw unknown_name("role", inner.key, roles, inner.where);
    model.spec.init.gain[inner.key] = formula_of(inner, {"N", "lambda"});
    model.given["init.gain." + inner.key] = inner;
  }
}

/// Key<Reading>: what is given counts here. Writing is below.
const std::vector<Key<Reading>>& keys() {
  static const std::vector<Key<Reading>> list = {
      {"scheme", 1, read_scheme, nullptr},
      {"weight_variance", 1, read_weight_variance, nullptr},
      {"bias_variance", 1,
       [](Reading& m, const TomlEntry& e) { read_value(e, m.spec.init.bias_variance); }, nullptr},
      {"distribution", 1,
       [](Reading& m, const TomlEntry& e) { read_value(e, m.spec.init.distribution); }, nullptr},
      {"names", 1, [](Reading& m, const TomlEntry& e) { read_value(e, m.spec.init.names); },
       nullptr},
      {"gain", 1, read_gain, nullptr},
  };
  return list;
}

std::string scheme_text(const Init& init) {
  if (init.scheme == "weight_variance")
    return "weight_variance = " + write_value(init.weight_variance) + "\n";
  if (init.scheme == "std") return "scheme = { std = " + write_value(init.std) + " }\n";
  return "scheme = " + quoted(init.scheme) + "\n";
}

}  // namespace

void read_init(Reading& model, const TomlEntry& section) {
  for (const TomlEntry& entry : table_of(section)) {
    find_key(keys(), 1, "[init]", entry).read(model, entry);
    model.given["init." + entry.key] = entry;
  }
}

std::string write_init(const ModelSpec& spec) {
  const Init& init = spec.init;
  std::string text = "[init]\n" + scheme_text(init);
  text += "bias_variance = " + write_value(init.bias_variance) + "\n";
  text += "distribution = " + write_value(init.distribution) + "\n";
  if (!init.names.empty()) text += "names = " + quoted(init.names) + "\n";
  if (init.gain.empty()) return text;
  std::string gains;
  for (const auto& [role, gain] : init.gain)
    gains += (gains.empty() ? "" : ", ") + role + " = " + write_value(gain);
  return text + "gain = { " + gains + " }\n";
}

}  // namespace scalecalc
