#include <fmt/format.h>

#include <algorithm>

#include "network/document.hpp"
#include "network/entry.hpp"
#include "network/schemes.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

using Kind = ModelSpec::Kind;

/// A model file while it is read: what was given, and where.
struct Reading {
  ModelSpec spec;
  std::map<std::string, TomlEntry> given;  ///< by the field's name in validate()

  bool has(const std::string& field) const { return given.count(field) > 0; }
};

enum class For { both, transformer, mlp };

/// One key of a section: its name, the kinds of model that have it, how it is read.
struct Key {
  const char* name;
  For kinds;
  void (*read)(Reading&, const TomlEntry&);
};

bool applies(const Key& key, Kind kind) {
  return key.kinds == For::both || key.kinds == (kind == Kind::mlp ? For::mlp : For::transformer);
}

const char* kind_name(Kind kind) {
  return kind == Kind::mlp ? "mlp" : "transformer";
}

/// A formula, or nothing for "auto".
std::optional<Expr> scale_of(const TomlEntry& entry) {
  const auto* text = std::get_if<std::string>(&entry.value);
  if (text != nullptr && *text == "auto") return {};
  return formula_of(entry, {"N"});
}

void read_kind(Reading& model, const TomlEntry& entry) {
  const std::string& name = text_of(entry);
  if (name == "layers")
    throw not_computed(entry, "kind = \"layers\"", "use kind = \"transformer\" or \"mlp\"");
  if (name != "transformer" && name != "mlp")
    throw unknown_name("kind", name, {"transformer", "mlp"}, entry.where);
  model.spec = default_spec(name == "mlp" ? Kind::mlp : Kind::transformer);
}

void read_activation(Reading& model, const TomlEntry& entry) {
  model.spec.activation = text_of(entry);
}

void read_gated(Reading&, const TomlEntry& entry) {
  if (boolean_of(entry)) throw not_computed(entry, "gated = true", "use gated = false");
}

void read_dropout(Reading&, const TomlEntry& entry) {
  if (number_of(entry) != 0) throw not_computed(entry, "dropout", "use dropout = 0.0");
}

/// Compared with heads once both are read.
void read_kv_heads(Reading&, const TomlEntry& entry) {
  integer_of(entry);
}

void read_optimizer(Reading& model, const TomlEntry& entry) {
  model.spec.optimizer = text_of(entry);
}

const std::vector<Key>& model_keys() {
  static const std::vector<Key> keys = {
      {"kind", For::both, [](Reading&, const TomlEntry&) {}},
      {"layers", For::both, [](Reading& m, const TomlEntry& e) { m.spec.layers = integer_of(e); }},
      {"width", For::both, [](Reading& m, const TomlEntry& e) { m.spec.width = integer_of(e); }},
      {"heads", For::transformer,
       [](Reading& m, const TomlEntry& e) { m.spec.heads = integer_of(e); }},
      {"kv_heads", For::transformer, read_kv_heads},
      {"ffn", For::transformer, [](Reading& m, const TomlEntry& e) { m.spec.ffn = integer_of(e); }},
      {"vocab", For::transformer,
       [](Reading& m, const TomlEntry& e) { m.spec.vocab = integer_of(e); }},
      {"features", For::mlp,
       [](Reading& m, const TomlEntry& e) { m.spec.features = integer_of(e); }},
      {"classes", For::mlp, [](Reading& m, const TomlEntry& e) { m.spec.vocab = integer_of(e); }},
      {"sequence", For::both,
       [](Reading& m, const TomlEntry& e) { m.spec.sequence = integer_of(e); }},
      {"batch", For::both, [](Reading& m, const TomlEntry& e) { m.spec.batch = integer_of(e); }},
      {"causal", For::transformer,
       [](Reading& m, const TomlEntry& e) { m.spec.causal = boolean_of(e); }},
      {"activation", For::both, read_activation},
      {"gated", For::transformer, read_gated},
      {"bias", For::both, [](Reading& m, const TomlEntry& e) { m.spec.bias = boolean_of(e); }},
      {"norm_affine", For::both,
       [](Reading& m, const TomlEntry& e) { m.spec.norm_affine = boolean_of(e); }},
      {"norm", For::both,
       [](Reading& m, const TomlEntry& e) { m.spec.norm = norm_from(text_of(e), e.where); }},
      {"norm_eps", For::both,
       [](Reading& m, const TomlEntry& e) { m.spec.norm_eps = number_of(e); }},
      {"placement", For::both,
       [](Reading& m, const TomlEntry& e) {
         m.spec.placement = placement_from(text_of(e), e.where);
       }},
      {"alpha", For::both, [](Reading& m, const TomlEntry& e) { m.spec.alpha = scale_of(e); }},
      {"lambda", For::both, [](Reading& m, const TomlEntry& e) { m.spec.lambda = scale_of(e); }},
      {"attention_scale", For::transformer,
       [](Reading& m, const TomlEntry& e) {
         m.spec.attention_scale = formula_of(e, {"N", "width", "head_width"});
       }},
      {"dropout", For::both, read_dropout},
      {"optimizer", For::both, read_optimizer},
  };
  return keys;
}

void read_scheme(Reading& model, const TomlEntry& entry) {
  ModelSpec::Init& init = model.spec.init;
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

const std::vector<Key>& init_keys() {
  static const std::vector<Key> keys = {
      {"scheme", For::both, read_scheme},
      {"weight_variance", For::both, read_weight_variance},
      {"bias_variance", For::both,
       [](Reading& m, const TomlEntry& e) { m.spec.init.bias_variance = number_of(e); }},
      {"distribution", For::both,
       [](Reading& m, const TomlEntry& e) {
         m.spec.init.distribution = distribution_from(text_of(e), e.where);
       }},
      {"names", For::both, [](Reading&, const TomlEntry& e) { text_of(e); }},
      {"gain", For::both, read_gain},
  };
  return keys;
}

void read_input_kind(Reading& model, const TomlEntry& entry) {
  const std::string& name = text_of(entry);
  if (name != "gaussian" && name != "tokens")
    throw unknown_name("input kind", name, {"gaussian", "tokens"}, entry.where);
  model.spec.input.kind = name == "tokens" ? InputKind::tokens : InputKind::gaussian;
}

const std::vector<Key>& input_keys() {
  static const std::vector<Key> keys = {
      {"kind", For::both, read_input_kind},
      {"second", For::both,
       [](Reading& m, const TomlEntry& e) { m.spec.input.second = number_of(e); }},
      {"cross", For::both,
       [](Reading& m, const TomlEntry& e) { m.spec.input.cross = number_of(e); }},
  };
  return keys;
}

void read_loss_kind(Reading&, const TomlEntry& entry) {
  const std::string& name = text_of(entry);
  if (name == "mse") throw not_computed(entry, "loss \"mse\"", "use kind = \"cross-entropy\"");
  if (name != "cross-entropy") throw unknown_name("loss", name, {"cross-entropy"}, entry.where);
}

void read_reduction(Reading& model, const TomlEntry& entry) {
  const std::string& name = text_of(entry);
  if (name != "sum" && name != "mean")
    throw unknown_name("reduction", name, {"sum", "mean"}, entry.where);
  model.spec.reduction = name == "mean" ? Reduction::mean : Reduction::sum;
}

const std::vector<Key>& loss_keys() {
  static const std::vector<Key> keys = {{"kind", For::both, read_loss_kind},
                                        {"reduction", For::both, read_reduction}};
  return keys;
}

const Key& find_key(const std::vector<Key>& keys, Kind kind, const TomlEntry& entry) {
  std::vector<std::string> known;
  for (const Key& key : keys) {
    if (entry.key == key.name && applies(key, kind)) return key;
    if (applies(key, kind)) known.emplace_back(key.name);
  }
  for (const Key& key : keys) {
    if (entry.key == key.name)
      throw Error(
          ErrorKind::input,
          fmt::format("key '{}' does not belong to kind = \"{}\"", key.name, kind_name(kind)),
          entry.where, fmt::format("its keys: {}", fmt::join(known, ", ")));
  }
  throw unknown_name("key", entry.key, known, entry.where);
}

void read_section(Reading& model, const TomlEntry& section, const std::vector<Key>& keys) {
  const std::string prefix = section.key == "model" ? "" : section.key + ".";
  for (const TomlEntry& entry : table_of(section)) {
    find_key(keys, model.spec.kind, entry).read(model, entry);
    model.given[prefix + entry.key] = entry;
  }
}

const TomlEntry* find(const TomlTable& table, const std::string& key) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const TomlEntry& entry) { return entry.key == key; });
  return found == table.end() ? nullptr : &*found;
}

/// [model] decides what the others may say, so it is read first, and its kind before all.
void read_sections(Reading& model, const TomlTable& root, const std::string& name) {
  for (const TomlEntry& section : root) {
    if (section.key == "layer")
      throw not_computed(section, "[[layer]]", "use kind = \"transformer\" or \"mlp\"");
    const std::vector<std::string> known = {"model", "init", "input", "loss"};
    if (std::find(known.begin(), known.end(), section.key) == known.end())
      throw unknown_name("section", section.key, known, section.where);
  }
  const TomlEntry* first = find(root, "model");
  if (first == nullptr)
    throw Error(ErrorKind::input, "a model file without [model]", shown(name),
                "begin with [model] and kind = \"transformer\" or \"mlp\"");
  if (const TomlEntry* kind = find(table_of(*first), "kind")) read_kind(model, *kind);
  read_section(model, *first, model_keys());
  for (const TomlEntry& section : root) {
    if (section.key == "init") read_section(model, section, init_keys());
    if (section.key == "input") read_section(model, section, input_keys());
    if (section.key == "loss") read_section(model, section, loss_keys());
  }
}

/// What one key says about another, and defaults that follow from other keys.
void complete(Reading& model) {
  ModelSpec& spec = model.spec;
  if (model.has("init.scheme") && model.has("init.weight_variance"))
    throw Error(ErrorKind::input, "weight_variance and scheme are both given",
                model.given.at("init.weight_variance").where, "keep one of the two");
  if (spec.init.scheme == "bert" && !model.has("init.distribution"))
    spec.init.distribution = Distribution::truncated_normal;
  if (spec.init.scheme == "t5" && !model.has("attention_scale")) spec.attention_scale = 1;
  if (spec.init.bias_variance > 0 && !model.has("bias")) spec.bias = true;
}

void check_kv_heads(const Reading& model) {
  const auto given = model.given.find("kv_heads");
  if (given == model.given.end() || integer_of(given->second) == model.spec.heads) return;
  throw not_computed(
      given->second,
      fmt::format("kv_heads = {} beside heads = {}", integer_of(given->second), model.spec.heads),
      fmt::format("use kv_heads = {}", model.spec.heads));
}

/// The first of the problem's fields that the file gives, else the file.
std::string position_of(const SpecProblem& problem, const Reading& model, const std::string& file) {
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
    throw Error(ErrorKind::input, "an empty model file", shown(name),
                "begin with [model] and kind = \"transformer\" or \"mlp\"");
  Reading model;
  read_sections(model, root, name);
  complete(model);
  if (const std::optional<SpecProblem> problem = find_problem(model.spec)) {
    throw Error(ErrorKind::input, problem->message, position_of(*problem, model, shown(name)),
                problem->hint);
  }
  check_kv_heads(model);
  return model.spec;
}

ModelSpec read_model(const std::string& path) {
  return parse_model(read_text_file(path), path);
}

}  // namespace scalecalc
