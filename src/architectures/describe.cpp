#include "architectures/describe.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "architectures/layers.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/model_fields.hpp"

namespace scalecalc::architectures {
namespace {

/// A model file of the family's fields; None leaves a field out.
std::string model_file(const Family& family, const Lookup& config) {
  std::string text, open;
  for (const auto& [full_name, expression] : family.model) {
    const std::size_t dot = full_name.find('.');
    const std::string section = full_name.substr(0, dot), key = full_name.substr(dot + 1);
    const Value value = expression.evaluate(config);
    if (value.is_null()) continue;
    if (section != open) text += "[" + section + "]\n";
    open = section;
    if (value.is_object())  // several fields at once
      for (const auto& [field, of_field] : value.items())
        text += field + " = " + of_field.dump() + "\n";
    else
      text += key + " = " + value.dump() + "\n";
  }
  return text;
}

/// The key that a field is, of several the one whose condition holds; null: computed of others.
const Expression* key_of(const Expression& expression, const Lookup& config) {
  if (expression.kind() == Expression::Kind::name) return &expression;
  if (expression.kind() != Expression::Kind::choice) return nullptr;
  const std::vector<Expression>& parts = expression.operands();
  return key_of(parts[parts[0].flag(config) ? 1 : 2], config);
}

Value json_of(const FieldValue& value) {
  return std::visit(
      []<class Held>(const Held& held) -> Value {
        if constexpr (std::is_same_v<Held, Expr>)
          return to_string(held);
        else
          return held;
      },
      value);
}

}  // namespace

Value config_of(const Tower& tower, const Lookup& config) {
  const Value* const inside = config(tower.config);
  Value made = inside != nullptr && inside->is_object() ? *inside : Value::object();
  made.erase("architectures");
  for (const std::string& key : tower.handed)
    if (const Value* value = config(key)) made[key] = *value;
  return made;
}

Value with_fitting_heads(const Family& family, Value config) {
  constexpr std::int64_t features = 64;
  const auto field = [&](const char* name) -> const Expression* {
    const auto said = std::find_if(family.model.begin(), family.model.end(),
                                   [&](const auto& entry) { return entry.first == name; });
    return said == family.model.end() ? nullptr : &said->second;
  };
  const Expression *const heads = field("model.heads"), *const width = field("model.width");
  if (heads == nullptr || width == nullptr || field("model.head_width") != nullptr) return config;
  const Value complete = completed(family.defaults, config);
  const Lookup keys = keys_of(complete);
  const Expression* const key = key_of(*heads, keys);
  if (key == nullptr || config.contains(key->name())) return config;
  const std::int64_t taken = heads->count(keys), all = width->count(keys);
  if (taken > 0 && all % taken != 0 && all % features == 0) config[key->name()] = all / features;
  return config;
}

void describe(const Family& family, const Lookup& config, LibraryModel& model) {
  for (const Conditional& remark : family.remarks)
    if (remark.condition.flag(config)) model.remarks.push_back(remark.text);
  model.why_no_spec = family.why_no_model;
  for (const Conditional& reason : family.undescribed)
    if (reason.condition.flag(config)) model.why_no_spec = reason.text;
  for (const Tower& tower : family.towers) model.towers.push_back(tower.name);
  if (!model.why_no_spec.empty()) return;
  if (!family.towers.empty()) {
    const Tower& first = family.towers.front();
    LibraryModel tower = model_of(architectures::family(first.model_type, model.source),
                                  config_of(first, config), model.source, false);
    model.spec = std::move(tower.spec);
    model.why_no_spec = std::move(tower.why_no_spec);
    model.remarks.insert(model.remarks.end(), tower.remarks.begin(), tower.remarks.end());
    return;
  }
  try {
    std::string text = model_file(family, config);
    WrittenLayers list;
    if (!family.lists.empty()) list = write_layers(family, config, model.tensors);
    model.spec = parse_model(text + list.toml, model.source + " as a model file");
    model.spec->names.patterns = std::move(list.names);
  } catch (const Error& error) {
    model.why_no_spec = error.what();
  }
}

}  // namespace scalecalc::architectures

namespace scalecalc {

std::optional<LibraryModel> resized(const LibraryModel& library, const ModelSpec& changed) {
  using namespace architectures;
  const Family& known = family(library.architecture, library.source);
  Value config = Value::parse(library.config);
  Value of_library = completed(known.defaults, config);
  of_library["architectures"] = {library.class_name};
  // Of the first of several models, the keys of the config inside.
  const Tower* const tower = known.towers.empty() ? nullptr : &known.towers.front();
  const Family& described = tower == nullptr ? known : family(tower->model_type, library.source);
  Value inside = of_library;
  if (tower != nullptr) {
    inside = completed(described.defaults, config_of(*tower, keys_of(of_library)));
    inside["architectures"] = {described.classes.front()};
  }
  const Lookup keys = keys_of(inside);
  const auto place_of = [&](const std::string& key) -> Value& {
    if (tower == nullptr ||
        std::find(tower->handed.begin(), tower->handed.end(), key) != tower->handed.end())
      return config;
    Value& within = config[tower->config];
    if (!within.is_object()) within = Value::object();
    return within;
  };
  for (const ModelField& field : model_fields()) {
    if (!field.belongs_to(changed.kind)) continue;
    const auto& said_of = described.model;
    const auto said = std::find_if(said_of.begin(), said_of.end(), [&](const auto& entry) {
      return entry.first == field.section + "." + field.key;
    });
    const Expression* const key = said == said_of.end() ? nullptr : key_of(said->second, keys);
    if (key == nullptr) continue;
    const FieldValue value = field.get(changed);
    if (value != field.get(*library.spec)) place_of(key->name())[key->name()] = json_of(value);
  }
  try {
    return model_of(known, std::move(config), library.source);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace scalecalc
