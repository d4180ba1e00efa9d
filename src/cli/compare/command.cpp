#include <map>
#include <memory>

#include "cli/app.hpp"
#include "cli/model_options.hpp"
#include "cli/propagate/document.hpp"
#include "scalecalc/init.hpp"
#include "scalecalc/model_fields.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

Value fields_of(const ModelSpec& spec) {
  std::vector<std::string> names;
  for (const ModelField& field : model_fields())
    if (field.belongs_to(spec.kind)) names.push_back(field.name);
  Value fields = Value::object();
  add_fields(spec, names, fields);
  return fields;
}

std::int64_t count_of(const PlannedParameter& parameter) {
  return parameter.rows * parameter.columns;
}

void add_init(const InitPlan& plan, report::Document& document) {
  std::int64_t total = 0;
  Value init = Value::array();
  for (const PlannedParameter& parameter : plan.parameters) {
    Value entry = Value::object();
    entry["path"] = parameter.path;
    entry["count"] = count_of(parameter);
    entry["std"] = parameter.std;
    init.push_back(std::move(entry));
    total += count_of(parameter);
  }
  document.results["parameter_count"] = total;
  document.results["init"] = std::move(init);
}

/// The parameters' records get their count and std too.
void add_init_columns(const InitPlan& plan, report::Table& rows) {
  std::map<std::string, const PlannedParameter*> by_path;
  for (const PlannedParameter& parameter : plan.parameters)
    by_path.emplace(parameter.path, &parameter);
  rows.columns.insert(rows.columns.end(), {"count", "std"});
  for (std::vector<Value>& row : rows.rows) {
    const auto found = by_path.find(std::get<std::string>(row[0].data()));
    const bool is_parameter = std::get<std::string>(row[1].data()) == "parameter";
    if (!is_parameter || found == by_path.end()) continue;
    row.insert(row.end(), {count_of(*found->second), found->second->std});
  }
}

/// What one model says, how it starts and what is predicted of it.
report::Document model_document(const ModelArgument& argument, const Context& context) {
  PropagateAnswer answer;
  answer.model = argument.model;
  answer.spec = argument.spec("compare");
  answer.engine = "quadrature";
  const InitPlan plan = init_plan(answer.spec);
  PropagateOptions options;
  options.threads = context.threads();
  answer.trace = propagate(plan.network, options);
  judge_depth(plan.network, answer);
  const Value fields = fields_of(answer.spec);
  report::Document document = propagate_document(std::move(answer), context.made_format());
  document.command = "compare";
  if (context.format() == report::Format::csv) {
    add_init_columns(plan, document.rows);
    return document;
  }
  document.results["fields"] = fields;
  add_init(plan, document);
  return document;
}

}  // namespace

void register_compare(CLI::App& app, Context& context) {
  auto model = std::make_shared<ModelArgument>();
  const std::vector<std::string> moments = {"second", "cosine", "grad_second"};
  CLI::App* command = add_command(
      app, context,
      {.name = "compare",
       .summary = "models side by side: fields, parameters, moments of every site",
       .examples = {"scalecalc compare pre-ln-12 post-ln-12",
                    "scalecalc presets pre-ln-12 | scalecalc compare - gpt2 --layers 2"},
       .form = compare_form,
       .uses = {.threads = true, .digits = true},
       .lists = Lists{.parts = {{.name = "fields", .only_differing = true},
                                {"init", {"count", "std"}},
                                {"sites", moments},
                                {"stacks", {"identity_weight", "effective_depth"}}},
                      .least = 2}},
      [&context, model] {
        context.emit(model_document(*model, context));
        return 0;
      });
  model->add_to(command);
}

}  // namespace scalecalc::cli
