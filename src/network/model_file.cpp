#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/text_file.hpp"
#include "network/document.hpp"
#include "network/model_keys.hpp"
#include "network/parts.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

using Kind = ModelSpec::Kind;

const char* const beginning = "begin with [model] and kind = \"transformer\" or \"mlp\"";

const TomlEntry* find(const TomlTable& table, const std::string& key) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const TomlEntry& entry) { return entry.key == key; });
  return found == table.end() ? nullptr : &*found;
}

void check_sections(const TomlTable& root) {
  const std::vector<std::string> known = {"model", "init",  "input", "memory",
                                          "loss",  "names", "layer"};
  for (const TomlEntry& section : root)
    if (std::find(known.begin(), known.end(), section.key) == known.end())
      throw unknown_name("section", section.key, known, section.where);
}

void read_section(Reading& model, const Section& section, const TomlEntry& entries) {
  const std::string kind = fmt::format("kind = \"{}\"", to_string(model.spec.kind));
  const unsigned bit = kind_bit(model.spec.kind);
  if ((section.kinds & bit) == 0)
    throw Error(ErrorKind::input, fmt::format("[{}] does not belong to {}", section.name, kind),
                entries.where, "leave it out");
  const std::string prefix = section.name == "model" ? "" : section.name + ".";
  for (const TomlEntry& entry : table_of(entries)) {
    find_key(section.keys(), bit, kind, entry).read(model.spec, entry);
    model.given[prefix + entry.key] = entry;
  }
}

void read_layers(Reading& model, const TomlEntry& section) {
  if (model.spec.kind != Kind::layers)
    throw Error(
        ErrorKind::input,
        fmt::format("[[layer]] does not belong to kind = \"{}\"", to_string(model.spec.kind)),
        section.where, "use kind = \"layers\"");
  model.given["layer"] = section;
  for (const TomlElement& element : tables_of(section))
    model.spec.layer_list.push_back(read_layer(element, 1));
}

/// [model] decides what the others may say, so it is read first, and its kind before all.
void read_sections(Reading& model, const TomlTable& root, const std::string& name) {
  check_sections(root);
  const TomlEntry* first = find(root, "model");
  if (first == nullptr)
    throw Error(ErrorKind::input, "a model file without [model]", base::shortened(name), beginning);
  if (const TomlEntry* kind = find(table_of(*first), "kind"))
    model.spec = default_spec(kind_from(*kind));
  for (const Section& section : plain_sections())
    if (const TomlEntry* entries = find(root, section.name)) {
      model.given[section.name] = *entries;
      read_section(model, section, *entries);
    }
  if (const TomlEntry* init = find(root, "init")) read_init(model, *init);
  if (const TomlEntry* names = find(root, "names")) read_names(model, *names);
  if (const TomlEntry* layers = find(root, "layer")) read_layers(model, *layers);
}

/// What one key says about another, and defaults that follow from other keys.
void complete(Reading& model) {
  ModelSpec& spec = model.spec;
  if (model.has("init.scheme") && model.has("init.weight_variance"))
    throw Error(ErrorKind::input, "weight_variance and scheme are both given",
                model.given.at("init.weight_variance").where, "keep one of the two");
  if (model.has("loss.target_second") && spec.loss != Loss::mse)
    throw Error(ErrorKind::input, "target_second belongs to the loss mse",
                model.given.at("loss.target_second").where, "use kind = \"mse\", or leave it out");
  if (model.has("memory") && !uses_memory(spec))
    throw Error(ErrorKind::input, "[memory] is for cross-attention, and this model has none",
                model.given.at("memory").where,
                spec.kind == Kind::layers ? "use memory = true in an attention, or leave it out"
                                          : "use cross_attention = true, or leave it out");
  if (spec.init.scheme == "bert" && !model.has("init.distribution"))
    spec.init.distribution = Distribution::truncated_normal;
  if (spec.init.scheme == "t5" && !model.has("attention_scale")) spec.attention_scale = 1;
  if (spec.init.bias_variance > 0 && !model.has("bias")) spec.bias = true;
}

/// Where the layer is, or the first of the problem's fields that the file gives, else the file.
std::string position_of(const SpecProblem& problem, const Reading& model, const std::string& file) {
  if (!problem.where.empty()) return problem.where;
  for (const std::string& field : problem.fields) {
    const auto given = model.given.find(field);
    if (given != model.given.end()) return given->second.where;
  }
  return file;
}

}  // namespace

ModelSpec parse_model(std::string_view toml, const std::string& name) {
  const TomlTable root = parse_toml(toml, name);
  if (root.empty())
    throw Error(ErrorKind::input, "an empty model file", base::shortened(name), beginning);
  Reading model;
  read_sections(model, root, name);
  complete(model);
  if (const std::optional<SpecProblem> problem = find_problem(model.spec)) {
    throw Error(ErrorKind::input, problem->message,
                position_of(*problem, model, base::shortened(name)), problem->hint);
  }
  return model.spec;
}

ModelSpec read_model(const std::string& path) {
  return parse_model(base::read_text_file(path, "model file"), path);
}

}  // namespace scalecalc
