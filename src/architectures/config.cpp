#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "architectures/describe.hpp"
#include "architectures/draw.hpp"
#include "architectures/expand.hpp"
#include "architectures/family.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "scalecalc/architectures.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace architectures {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;
constexpr int kDeepestConfig = 32;

bool is_weights_file(const std::string& path) {
  return path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json");
}

const base::InputKind& config_kind() {
  static const base::InputKind kind{"config", "give a config.json, or a folder with one",
                                    kMostBytes, true};
  return kind;
}

/// A config.json of timm names a model of its list and no sizes, which the weights tell.
bool is_of_timm(const std::string& path) {
  const Value config = Value::parse(base::read_input(path, config_kind()), nullptr, false);
  return config.is_object() && config.contains("architecture") && !config.contains("model_type");
}

/// The config in a folder, or beside a file of weights; empty where there is none, or one of timm.
std::string config_beside(const std::string& path) {
  std::error_code code;
  const std::filesystem::path place(path);
  std::filesystem::path config;
  if (std::filesystem::is_directory(place, code))
    config = place / "config.json";
  else if (is_weights_file(path))
    config = place.parent_path() / "config.json";
  if (config.empty() || !std::filesystem::exists(config, code)) return "";
  return is_of_timm(config.string()) ? "" : config.string();
}

Value parse_json(std::string_view text, const std::string& name) {
  int depth = 0;
  std::vector<std::set<std::string>> keys;  ///< of the objects that are open
  std::string twice;
  const auto limit = [&](int nested, Value::parse_event_t event, Value& value) {
    depth = std::max(depth, nested);
    using Event = Value::parse_event_t;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end && !keys.empty()) keys.pop_back();
    if (event == Event::key && !keys.empty() && !keys.back().insert(value).second && twice.empty())
      twice = value.get<std::string>();
    return nested <= kDeepestConfig;
  };
  Value config;
  try {
    config = Value::parse(text, limit);
  } catch (const Value::parse_error& error) {
    throw Error(ErrorKind::input, fmt::format("not JSON at byte {}", error.byte), name,
                "give a config.json as its library writes it");
  } catch (const Value::exception&) {
    throw Error(ErrorKind::input, "a number is too large", name,
                "numbers of a config are below 1.8e308");
  }
  if (depth > kDeepestConfig)
    throw Error(ErrorKind::input, "nested deeper than 32", name,
                "give a config.json as its library writes it");
  if (!twice.empty())
    throw Error(ErrorKind::input, base::shortened(twice) + " is given twice", name,
                "leave one of the two out");
  if (!config.is_object())
    throw Error(ErrorKind::input, "a config is an object {...}", name,
                "give a config.json as its library writes it");
  return config;
}

void rename_aliases(const Family& family, Value& config) {
  for (const auto& [other, key] : family.aliases) {
    const auto found = config.find(other);
    if (found == config.end() || config.contains(key)) continue;
    Value value = *found;
    config[key] = std::move(value);
  }
}

std::string text_at(const Value& config, const char* key, const std::string& name) {
  const auto found = config.find(key);
  if (found == config.end() || !found->is_string())
    throw Error(
        ErrorKind::input, fmt::format("there is no {}", key), name,
        "give a config.json of Hugging Face transformers, whose model_type says what it is");
  return found->get<std::string>();
}

/// The class in `architectures`, or the family's first.
std::string class_of(const Family& family, const Value& config, const std::string& name) {
  const auto found = config.find("architectures");
  if (found == config.end() || found->is_null() || found->empty()) return family.classes.front();
  const Value& first = found->is_array() ? found->front() : *found;
  const std::string asked = first.is_string() ? first.get<std::string>() : first.dump();
  if (std::find(family.classes.begin(), family.classes.end(), asked) == family.classes.end())
    throw unknown_name("class", asked, family.classes, name + ": architectures");
  return asked;
}

void refuse(const Family& family, const Lookup& lookup, const std::string& name) {
  for (const Conditional& refusal : family.refusals)
    if (refusal.condition.flag(lookup)) throw Error(ErrorKind::input, refusal.text, name);
}

/// The one model of several that a config holds, or, `told`, that tensors tell.
LibraryModel tower_of(const Family& family, Value config, const std::string& name,
                      const std::string& asked, bool told = false) {
  std::vector<std::string> names;
  for (const Tower& tower : family.towers) names.push_back(tower.name);
  const std::string where = name + "#" + base::shortened(asked);
  if (names.empty())
    throw Error(ErrorKind::input, "a config of " + family.model_type + " holds one model", where,
                "leave #" + base::shortened(asked) + " out");
  const auto found = std::find(names.begin(), names.end(), asked);
  if (found == names.end()) throw unknown_name("model in this config", asked, names, where);
  const Tower& tower = family.towers[static_cast<std::size_t>(found - names.begin())];
  rename_aliases(family, config);
  config = completed(family.defaults, std::move(config));
  const Family& own = architectures::family(tower.model_type, name);
  Value inside = config_of(tower, keys_of(config));
  if (told) inside = with_fitting_heads(own, std::move(inside));
  return model_of(own, std::move(inside), where);
}

std::vector<LibraryVariant> variants_of(const Family& family, const Lookup& lookup,
                                        const std::vector<LibraryTensor>& tensors) {
  std::vector<LibraryVariant> variants;
  for (const Variant& variant : family.variants) {
    LibraryVariant made{variant.name, variant.title, tensors};
    for (LibraryTensor& tensor : made.tensors)
      for (const auto& [ending, rule] : variant.draws) {
        if (!tensor.name.ends_with(ending)) continue;
        const Draw draw = draw_of(rule, lookup);
        tensor.distribution = draw.distribution;
        tensor.mean = draw.mean;
        tensor.std = draw.std;
        tensor.rule = rule.text();
      }
    variants.push_back(std::move(made));
  }
  return variants;
}

}  // namespace

Lookup keys_of(const Value& config) {
  return [&config](const std::string& key) -> const Value* {
    const auto found = config.find(key);
    return found == config.end() ? nullptr : &*found;
  };
}

Value completed(const Defaults& defaults, Value config) {
  const Lookup lookup = keys_of(config);
  for (const Default& one : defaults.keys) {
    const auto found = config.find(one.key);
    if (one.expression) {
      if (found == config.end() || found->is_null())
        config[one.key] = one.expression->evaluate(lookup);
    } else if (found == config.end()) {
      config[one.key] = one.value;
    }
  }
  for (const auto& [key, inner] : defaults.inner) {
    const auto found = config.find(key);
    Value own = found == config.end() || !found->is_object() ? Value::object() : *found;
    config[key] = completed(inner, std::move(own));
  }
  return config;
}

LibraryModel model_of(const Family& family, Value config, const std::string& name, bool strict) {
  try {
    rename_aliases(family, config);
    const std::string given = config.dump();
    config = completed(family.defaults, std::move(config));
    const Lookup lookup = keys_of(config);
    if (strict) refuse(family, lookup, name);
    LibraryModel model;
    model.source = name;
    model.architecture = family.model_type;
    model.class_name = class_of(family, config, name);
    config["architectures"] = {model.class_name};
    model.library = family.library;
    model.config = given;
    model.tensors = expand(family, model.class_name, config, strict);
    model.variants = variants_of(family, lookup, model.tensors);
    describe(family, lookup, model);
    return model;
  } catch (const Error& error) {
    if (error.where().find(name) != std::string::npos) throw;
    throw Error(error.kind(), error.message(),
                error.where().empty() ? name : name + ": " + error.where(), error.hint());
  }
}

}  // namespace architectures

LibraryModel parse_config(std::string_view json, const std::string& name,
                          const std::string& tower) {
  using namespace architectures;
  Value config = parse_json(json, name);
  const Family& known = family(text_at(config, "model_type", name), name);
  if (!tower.empty()) return tower_of(known, std::move(config), name, tower);
  return model_of(known, std::move(config), name);
}

LibraryModel tower_of(const LibraryModel& library, const std::string& tower) {
  using namespace architectures;
  return tower_of(family(library.architecture, library.source), Value::parse(library.config),
                  library.source, tower, true);
}

TowerPath tower_path(const std::string& path) {
  const std::size_t at = path.rfind('#');
  std::error_code code;
  if (at == std::string::npos || at == 0 || std::filesystem::exists(path, code)) return {path, ""};
  return {path.substr(0, at), path.substr(at + 1)};
}

bool is_config(const std::string& given) {
  const std::string path = tower_path(given).path;
  const bool is_json = path.ends_with(".json") && !architectures::is_weights_file(path);
  return is_json || !architectures::config_beside(path).empty();
}

LibraryModel read_config(const std::string& given) {
  const auto [path, tower] = tower_path(given);
  std::error_code code;
  std::string file = architectures::config_beside(path);
  if (file.empty() && std::filesystem::is_directory(path, code))
    file = (std::filesystem::path(path) / "config.json").string();
  if (file.empty()) file = path;
  const std::string text = base::read_input(file, architectures::config_kind());
  if (base::is_pickled(text)) throw base::pickled_file(file);
  return parse_config(text, base::shortened(file), tower);
}

}  // namespace scalecalc
