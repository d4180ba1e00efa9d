#include <functional>
#include <memory>

#include "cli/app.hpp"
#include "cli/options.hpp"
#include "cli/table/tables.hpp"
#include "scalecalc/activation.hpp"
#include "scalecalc/architectures.hpp"
#include "scalecalc/claims.hpp"
#include "scalecalc/export.hpp"
#include "scalecalc/model_fields.hpp"
#include "scalecalc/names.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/train.hpp"

namespace scalecalc::cli {
namespace {

using report::Table;
using report::Value;

/// Whole powers as integers, others as "1/2".
Value to_value(const Rational& power) {
  const std::optional<std::int64_t> whole = power.to_int64();
  return whole ? Value(*whole) : Value(power.to_string());
}

Value to_value(const std::vector<std::string>& names) {
  Value list = Value::array();
  for (const std::string& name : names) list.push_back(name);
  return list;
}

Table families_table() {
  Table table{{"name", "aliases", "update", "p", "s", "o", "title"}, {}};
  for (const Family& family : families()) {
    const StepLaw law = step_law(family.update);
    table.rows.push_back({family.name, to_value(family.aliases), to_string(family.update),
                          to_value(law.gradient_power), to_value(law.parameter_power),
                          to_value(law.outer_power), family.title});
  }
  return table;
}

Table placements_table() {
  Table table{{"name", "final_norm"}, {}};
  for (const std::string& name : placement_names()) {
    table.rows.push_back({name, has_final_norm(placement_from(name))});
  }
  return table;
}

Table groups_table() {
  Table table{{"name", "alpha", "lambda", "title"}, {}};
  const auto scale = [](const std::optional<Expr>& formula) {
    return formula ? to_string(*formula) : "solved";
  };
  for (const TrainGroup& group : train_groups())
    table.rows.push_back({group.name, scale(group.alpha), scale(group.lambda), group.title});
  return table;
}

std::string parameters_text(const ActivationInfo& info) {
  std::string text;
  for (const ActivationParameter& parameter : info.parameters) {
    text += (text.empty() ? "" : ", ") + parameter.name + " = " +
            parameter.default_value.to_string() + " (" + parameter.meaning + ")";
  }
  return text;
}

Table activations_table() {
  Table table{{"name", "aliases", "expression", "parameters", "source"}, {}};
  for (const ActivationInfo& info : activations()) {
    table.rows.push_back({info.name, to_value(info.aliases), to_string(info.expression),
                          parameters_text(info), info.source});
  }
  return table;
}

Table names_table(const std::vector<std::string>& names) {
  Table table{{"name"}, {}};
  for (const std::string& name : names) table.rows.push_back({name});
  return table;
}

Table topics_table() {
  Table table{{"name", "title"}, {}};
  for (const Topic& entry : topics()) table.rows.push_back({entry.name, entry.title});
  return table;
}

Table tables_table() {
  Table table{{"name", "files", "title"}, {}};
  for (const GeneratedTable& entry : generated_tables())
    table.rows.push_back({entry.name, "tables/" + entry.stem + ".{md,csv,json}", entry.title});
  return table;
}

Table namings_table() {
  Table table{{"name", "title"}, {}};
  for (const std::string& name : naming_names())
    table.rows.push_back({name, find_naming(name).title});
  return table;
}

std::string kinds_of(const ModelField& field) {
  std::string kinds;
  for (const ModelSpec::Kind kind :
       {ModelSpec::Kind::transformer, ModelSpec::Kind::mlp, ModelSpec::Kind::layers})
    if (field.belongs_to(kind)) kinds += (kinds.empty() ? "" : ", ") + to_string(kind);
  return kinds == "transformer, mlp, layers" ? "all" : kinds;
}

/// Whose defaults are told.
ModelSpec::Kind first_kind(const ModelField& field) {
  for (const ModelSpec::Kind kind : {ModelSpec::Kind::transformer, ModelSpec::Kind::mlp})
    if (field.belongs_to(kind)) return kind;
  return ModelSpec::Kind::layers;
}

Table fields_table() {
  Table table{{"file", "claims", "option", "kinds", "meaning"}, {}};
  for (const ModelField& field : model_fields()) {
    const bool has_option = field.option != ModelField::Option::none;
    table.rows.push_back({field.full_name(), field.name,
                          has_option ? Value(field.option_name()) : Value(), kinds_of(field),
                          field.help_with_default(default_spec(first_kind(field)))});
  }
  return table;
}

Table architectures_table() {
  Table table{{"name", "title"}, {}};
  for (const KnownArchitecture& known : known_architectures())
    table.rows.push_back({known.model_type, known.title});
  return table;
}

struct Listing {
  std::string name, title;
  std::function<Table()> table;
};

const std::vector<Listing>& listings() {
  static const std::vector<Listing> list = {
      {"families", "Optimizer families", families_table},
      {"fields", "Fields of a model", fields_table},
      {"placements", "Where a block has its norms", placements_table},
      {"groups", "What train compares", groups_table},
      {"activations", "Activations", activations_table},
      {"names", "What other frameworks call parameters", namings_table},
      {"architectures", "Models of other libraries whose config is read", architectures_table},
      {"tables", "Tables that come with the program", tables_table},
      {"topics", "What explain tells of", topics_table},
      {"targets", "What init writes", [] { return names_table(target_names()); }},
      {"quantities", "What sweep measures", [] { return names_table(quantity_names()); }},
      {"formats", "Formats of the results", [] { return names_table(report::format_names()); }},
  };
  return list;
}

std::vector<std::string> listing_names() {
  std::vector<std::string> names;
  for (const Listing& entry : listings()) names.push_back(entry.name);
  return names;
}

const Listing& listing(const std::string& name) {
  for (const Listing& entry : listings())
    if (entry.name == name) return entry;
  if (name.empty()) {
    throw Error(ErrorKind::usage, "list what?", "scalecalc list",
                "for example scalecalc list families");
  }
  throw unknown_name("list", name, listing_names(), "scalecalc list");
}

report::Document make_list(const std::string& name) {
  const Listing& entry = listing(name);
  report::Document document;
  document.command = "list";
  document.inputs["topic"] = name;
  document.rows = entry.table();
  document.results[name] = report::records(document.rows);
  document.sections = {{entry.title, document.rows}};
  return document;
}

}  // namespace

void register_list(CLI::App& app, Context& context) {
  auto name = std::make_shared<std::string>();
  CLI::App* command =
      add_command(app, context,
                  {.name = "list",
                   .summary = "the names that options take",
                   .examples = {"scalecalc list families", "scalecalc list fields --format csv"},
                   .form = list_form},
                  [&context, name] {
                    context.emit(make_list(*name));
                    return 0;
                  });
  const Options add{command};
  add.text("topic", *name, {"TOPIC", listing_names}, alternatives(listing_names()));
}

}  // namespace scalecalc::cli
