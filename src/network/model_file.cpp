#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.hpp"
#include "base/text_file.hpp"
#include "network/document.hpp"
#include "network/field_values.hpp"
#include "network/model_keys.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

using Kind = ModelSpec::Kind;

/// The files that are being read, each as the base of the one before.
struct Bases {
  const ConfigReader& configs;
  std::vector<std::string> files = {};
};

const char* const base_key = "base";
const char* const beginning = "begin with [model] and kind = \"transformer\" or \"mlp\"";

const TomlEntry* find(const TomlTable& table, const std::string& key) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const TomlEntry& entry) { return entry.key == key; });
  return found == table.end() ? nullptr : &*found;
}

void check_sections(const TomlTable& root) {
  const std::vector<std::string> known = {"model",     "init", "input", "memory",
                                          "condition", "loss", "names", "layer"};
  for (const TomlEntry& section : root)
    if (std::find(known.begin(), known.end(), section.key) == known.end())
      throw unknown_name("section", section.key, known, section.where);
}

/// What the model's kind has of a section: fields, or those of an inner table ("gain.").
std::vector<const ModelField*> fields_of(const std::string& section, Kind kind,
                                         const std::string& table = {}) {
  std::vector<const ModelField*> fields;
  for (const ModelField& field : model_fields())
    if (field.section == section && field.belongs_to(kind) && field.key.starts_with(table))
      fields.push_back(&field);
  return fields;
}

const ModelField* field_at(const std::vector<const ModelField*>& fields, const std::string& key) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const ModelField* field) { return field->key == key; });
  return found == fields.end() ? nullptr : *found;
}

void read_field(Reading& model, const ModelField& field, const TomlEntry& entry) {
  field.set(model.spec, field_value(field, entry), entry.where);
  model.given[field.full_name()] = entry.where;
}

/// An inner table. `plain` is the field of that key alone, if there is one.
void read_table(Reading& model, const std::vector<const ModelField*>& inner,
                const ModelField* plain, const TomlEntry& entry) {
  const std::size_t prefix = entry.key.size() + 1;
  const std::string first = inner.front()->key.substr(prefix);
  if (plain != nullptr) {
    const std::string hint = fmt::format("for example {0} = {1} or {0} = {{ {2} = {3} }}",
                                         plain->key, plain->example, first, inner.front()->example);
    if (!std::holds_alternative<TomlTable>(entry.value))
      throw Error(ErrorKind::input,
                  fmt::format("{} must be a string or {{ {} = ... }}, got {}", plain->key, first,
                              entry.type),
                  entry.where, hint);
    if (table_of(entry).empty())
      throw Error(ErrorKind::input, entry.key + " is an empty table", entry.where, hint);
  }
  std::vector<std::string> known;
  for (const ModelField* field : inner) known.push_back(field->key.substr(prefix));
  for (const TomlEntry& value : table_of(entry)) {
    const ModelField* field = field_at(inner, entry.key + "." + value.key);
    if (field == nullptr)
      throw unknown_name(plain != nullptr ? "key" : "role", value.key, known, value.where);
    read_field(model, *field, value);
  }
}

std::vector<std::string> keys_of(const std::vector<const ModelField*>& fields,
                                 const std::string& section) {
  std::vector<std::string> keys;
  for (const ModelField* field : fields) {
    const std::string key = field->key.substr(0, field->key.find('.'));
    if (keys.empty() || keys.back() != key) keys.push_back(key);
  }
  if (section == "model") keys.emplace_back(base_key);
  return keys;
}

bool is_elsewhere(const std::string& section, const std::string& key) {
  return std::any_of(model_fields().begin(), model_fields().end(), [&](const ModelField& field) {
    return field.section == section && field.key == key;
  });
}

void read_section(Reading& model, const TomlEntry& section) {
  const Kind kind = model.spec.kind;
  const std::string kind_name = fmt::format("kind = \"{}\"", to_string(kind));
  const std::vector<const ModelField*> fields = fields_of(section.key, kind);
  if (fields.empty())
    throw Error(ErrorKind::input, fmt::format("[{}] does not belong to {}", section.key, kind_name),
                section.where, "leave it out");
  for (const TomlEntry& entry : table_of(section)) {
    if (section.key == "model" && entry.key == base_key) continue;
    const ModelField* plain = field_at(fields, entry.key);
    const std::vector<const ModelField*> inner = fields_of(section.key, kind, entry.key + ".");
    if (!inner.empty() && (plain == nullptr || !std::holds_alternative<std::string>(entry.value)))
      read_table(model, inner, plain, entry);
    else if (plain != nullptr)
      read_field(model, *plain, entry);
    else
      throw unknown_key(entry, keys_of(fields, section.key), is_elsewhere(section.key, entry.key),
                        kind_name);
  }
}

void read_layers(Reading& model, const TomlEntry& section) {
  if (model.spec.kind != Kind::layers)
    throw Error(
        ErrorKind::input,
        fmt::format("[[layer]] does not belong to kind = \"{}\"", to_string(model.spec.kind)),
        section.where, "use kind = \"layers\"");
  model.given["layer"] = section.where;
  model.spec.layer_list.clear();
  for (const TomlElement& element : tables_of(section))
    model.spec.layer_list.push_back(read_layer(element, 1));
}

ModelSpec parse(std::string_view toml, const std::string& name, Bases& bases);

/// Of a file that is the base of those being read.
ModelSpec read_base(const std::filesystem::path& path, const TomlEntry& entry, Bases& bases) {
  constexpr std::size_t most_bases = 8;
  std::error_code code;
  const std::string file = std::filesystem::weakly_canonical(path, code).string();
  if (std::find(bases.files.begin(), bases.files.end(), file) != bases.files.end())
    throw Error(ErrorKind::input, "a model file is its own base", entry.where,
                "base names a preset, another model file or a config");
  if (bases.files.size() > most_bases)
    throw Error(ErrorKind::input, fmt::format("more than {} bases behind each other", most_bases),
                entry.where, "scalecalc import FILE writes a model in full");
  if (bases.configs)
    if (const std::optional<ModelSpec> spec = bases.configs(path.string())) return *spec;
  if (path.extension() == ".json" || std::filesystem::is_directory(path, code))
    throw Error(ErrorKind::input, "a config cannot be a base here", entry.where,
                "scalecalc import CONFIG -o model.toml writes it as a model file");
  bases.files.push_back(file);
  ModelSpec spec = parse(base::read_text_file(path.string(), "model file"), path.string(), bases);
  bases.files.pop_back();
  return spec;
}

/// A preset, or a path from the folder of the file that says it.
ModelSpec base_of(const TomlEntry& entry, const std::string& name, Bases& bases) {
  const std::string& base = text_of(entry);
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    if (preset.name == base) return parse(preset.toml, preset.name, bases);
    names.push_back(preset.name);
  }
  const std::filesystem::path path = std::filesystem::path(name).parent_path() / base;
  std::error_code code;
  if (base.empty() || base.find('\0') != std::string::npos ||
      (base.find_first_of("/.") == std::string::npos && !std::filesystem::exists(path, code)))
    throw unknown_name("preset or model file", base::shortened(base), names, entry.where);
  return read_base(path, entry, bases);
}

/// What the model starts from: its base, or the defaults of its kind.
void read_start(Reading& model, const TomlTable& section, const std::string& name, Bases& bases) {
  const TomlEntry *base = find(section, base_key), *kind = find(section, "kind");
  if (base != nullptr) model.spec = base_of(*base, name, bases);
  if (kind == nullptr) return;
  const Kind of_base = model.spec.kind;
  model_field("kind", of_base, kind->where).set(model.spec, text_of(*kind), kind->where);
  if (base == nullptr)
    model.spec = default_spec(model.spec.kind);
  else if (model.spec.kind != of_base)
    throw Error(ErrorKind::input,
                fmt::format("kind is \"{}\", and that of the base \"{}\"",
                            to_string(model.spec.kind), to_string(of_base)),
                kind->where, "leave kind out, or use another base");
}

/// [model] decides what the others may say, so it is read first, and its kind before all.
void read_sections(Reading& model, const TomlTable& root, const std::string& name, Bases& bases) {
  check_sections(root);
  const TomlEntry* first = find(root, "model");
  if (first == nullptr)
    throw Error(ErrorKind::input, "a model file without [model]", base::shortened(name), beginning);
  read_start(model, table_of(*first), name, bases);
  for (const char* section : {"model", "input", "memory", "condition", "loss", "init"})
    if (const TomlEntry* entries = find(root, section)) {
      model.given[section] = entries->where;
      read_section(model, *entries);
    }
  if (const TomlEntry* names = find(root, "names")) {
    model.spec.names = {};
    read_names(model, *names);
  }
  if (const TomlEntry* layers = find(root, "layer")) read_layers(model, *layers);
}

/// Where the layer is, or the first of the problem's fields that the file gives, else the file.
std::string position_of(const SpecProblem& problem, const Reading& model, const std::string& file) {
  if (!problem.where.empty()) return problem.where;
  for (const std::string& field : problem.fields) {
    const auto given = model.given.find(field);
    if (given != model.given.end()) return given->second;
  }
  return file;
}

ModelSpec parse(std::string_view toml, const std::string& name, Bases& bases) {
  const TomlTable root = parse_toml(toml, name);
  if (root.empty())
    throw Error(ErrorKind::input, "an empty model file", base::shortened(name), beginning);
  Reading model;
  read_sections(model, root, name, bases);
  complete_fields(model.spec, model.given);
  if (const std::optional<SpecProblem> problem = find_problem(model.spec)) {
    throw Error(ErrorKind::input, problem->message,
                position_of(*problem, model, base::shortened(name)), problem->hint);
  }
  return model.spec;
}

}  // namespace

ModelSpec parse_model(std::string_view toml, const std::string& name, const ConfigReader& configs) {
  Bases bases{configs};
  return parse(toml, name, bases);
}

ModelSpec read_model(const std::string& path, const ConfigReader& configs) {
  std::error_code code;
  Bases bases{configs, {std::filesystem::weakly_canonical(path, code).string()}};
  return parse(base::read_text_file(path, "model file"), path, bases);
}

}  // namespace scalecalc
