#include "cli/model_options.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/standard_input.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::int64_t kLargest = 1000000;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool parse_flag(const std::string& option, const std::string& text) {
  return parse_choice(option, text, {"true", "false"}) == "true";
}

/// A placement with the pair that is solved for it.
constexpr char kSolvedPlacement[] = "deepnorm";

std::vector<std::string> placements() {
  std::vector<std::string> names = placement_names();
  names.push_back(kSolvedPlacement);
  return names;
}

ValueType type_of(const ModelField& field) {
  ValueType::Names names = field.names;
  if (field.name == "optimizer") names = family_names;
  if (field.name == "placement") names = placements;
  return {field.placeholder.c_str(), names};
}

/// The name that a model has for it.
std::string parse_placement(const std::string& option, const std::string& text) {
  const std::vector<std::string> known = placements();
  if (!contains(known, text)) throw unknown_name("placement", text, known, option);
  return text == kSolvedPlacement ? "post" : text;
}

/// The value that the text of an option stands for.
FieldValue parse_field(const ModelField& field, const std::string& option,
                       const std::string& text) {
  using Type = ModelField::Type;
  const bool is_share =
      field.range == ModelField::Range::rate || field.range == ModelField::Range::part;
  switch (field.type) {
    case Type::integer: return parse_integer(option, text, 1, kLargest, field.example);
    case Type::number: return parse_number(option, text, 0, is_share ? 1 : kLargest, field.example);
    case Type::flag: return parse_flag(option, text);
    case Type::name: return field.name == "placement" ? parse_placement(option, text) : text;
    case Type::scale:
      if (text == "auto") return text;
      break;
    case Type::formula: break;
  }
  return parse_formula(option, text, field.symbols);
}

/// "--head-width,--head-dim": its older name too, where no other field has that.
std::string names_of(const ModelField& field) {
  const auto is_other = [&](const ModelField& other) { return other.name == field.older; };
  const std::vector<ModelField>& all = model_fields();
  if (field.older.empty() || std::any_of(all.begin(), all.end(), is_other))
    return field.option_name();
  ModelField older = field;
  older.name = field.older;
  return field.option_name() + "," + older.option_name();
}

}  // namespace

void ModelOptions::add(CLI::App* app, const std::string& group, const ModelField& field,
                       const ModelSpec* defaults) {
  const auto [place, is_new] = given_.emplace(field.name, Given{&field, {}});
  if (!is_new) return;
  const Options options{app, group};
  const std::string names = names_of(field);
  std::string help = defaults ? field.help_with_default(*defaults) : field.help;
  if (field.name == "placement") help += "; deepnorm: post with its pair solved";
  if (field.type == ModelField::Type::flag)
    options.flag_axis(names, place->second.text, help);
  else
    options.axis(names, place->second.text, type_of(field), help);
}

void ModelOptions::add_to(CLI::App* app, const std::vector<std::string>& without,
                          const ModelSpec* defaults) {
  for (const auto& [option, group] : {std::pair{ModelField::Option::block, "Model"},
                                      {ModelField::Option::detail, "Model in detail"}})
    for (const ModelField& field : model_fields())
      if (field.option == option && !contains(without, field.name))
        add(app, group, field, defaults);
}

void ModelOptions::add_command_options(CLI::App* app, const std::vector<std::string>& names) {
  for (const ModelField& field : model_fields())
    if (field.option == ModelField::Option::command &&
        (names.empty() || contains(names, field.name)))
      add(app, {}, field, nullptr);
}

bool ModelOptions::any() const {
  return std::any_of(given_.begin(), given_.end(),
                     [](const auto& given) { return !given.second.text.empty(); });
}

const std::string& ModelOptions::text(const std::string& field) const {
  static const std::string nothing;
  const auto found = given_.find(field);
  return found == given_.end() ? nothing : found->second.text;
}

bool ModelOptions::solves_pair() const {
  return text("placement") == kSolvedPlacement;
}

Placement ModelOptions::placement() const {
  return placement_from(parse_placement("--placement", text("placement")), "--placement");
}

ModelSpec ModelOptions::spec() const {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  apply_to(spec);
  return spec;
}

void ModelOptions::apply_to(ModelSpec& spec) const {
  const std::int64_t old_width = spec.width;
  const bool is_multiple = old_width > 0 && spec.ffn % old_width == 0;
  GivenFields given_fields;
  if (solves_pair()) {
    spec.alpha.reset();
    spec.lambda.reset();
  }
  for (const auto& [name, said] : given_) {
    if (said.text.empty()) continue;
    const std::string option = said.field->option_name();
    const ModelField& field = model_field(name, spec.kind, option);
    field.set(spec, parse_field(field, option, said.text), option);
    given_fields[field.full_name()] = option;
  }
  if (is_multiple && !has("ffn")) spec.ffn = spec.ffn / old_width * spec.width;
  complete_fields(spec, given_fields);
  refuse_idle_fields(spec, given_fields);
  validate(spec, given());
}

std::string ModelOptions::given() const {
  std::string words;
  for (const ModelField& field : model_fields()) {
    const auto found = given_.find(field.name);
    if (found == given_.end() || found->second.field != &field || !has(field.name)) continue;
    const std::string& said = found->second.text;
    words += (words.empty() ? "" : " ") + field.option_name();
    const bool is_bare = field.type == ModelField::Type::flag && said == "true";
    if (!is_bare) words += " " + base::shortened(said);
  }
  return words;
}

void ModelArgument::add_to(CLI::App* app, const char* name,
                           const std::vector<std::string>& command_options) {
  const Options add{app};
  add.axis(name, model, types::model(),
           "a preset (scalecalc presets), a model file (TOML), a config.json, its folder, a file "
           "of weights or a graph of torch.export (.pt2), or - for a "
           "model file on standard input; "
           "options override what it says, which is their default");
  options.add_command_options(app, command_options);
  options.add_to(app);
}

std::string ModelArgument::given() const {
  const std::string words = options.given();
  return base::shortened(model) + (words.empty() ? "" : " " + words);
}

ModelSpec ModelArgument::spec(const std::string& command) const {
  if (model.empty()) {
    throw Error(ErrorKind::usage, "a model is missing", "scalecalc " + command,
                "a preset (scalecalc presets) or a file: scalecalc " + command + " gpt2");
  }
  ModelSpec spec = read_model_argument(model);
  if (options.any()) options.apply_to(spec);
  if (has_open_scales(spec)) solve_scales(spec);
  return spec;
}

}  // namespace scalecalc::cli
