#include "cli/init/document.hpp"

#include <cmath>
#include <map>

#include "base/text.hpp"
#include "cli/propagate/document.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

const std::vector<std::string>& columns() {
  static const std::vector<std::string> all = {
      "path", "name",  "role", "shape",    "distribution", "std",
      "mean", "bound", "gain", "fan_rule", "formula",      "untruncated_std"};
  return all;
}

/// "768x2304": a part's own shape, as it is stored.
std::string shape_text(const NamedTensor& tensor, const PlannedParameter& parameter) {
  std::string text;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const bool packed = tensor.parts.size() > 1 && static_cast<int>(i) == tensor.axis;
    text += (i > 0 ? "x" : "") + std::to_string(packed ? parameter.columns : tensor.shape[i]);
  }
  return text;
}

Value bound_of(const PlannedParameter& parameter) {
  return std::isfinite(parameter.bound) ? Value(parameter.bound) : Value();
}

std::vector<Value> row_of(const PlannedParameter& parameter, const Value& name,
                          const std::string& shape) {
  return {parameter.path,
          name,
          parameter.role,
          shape,
          to_string(parameter.start),
          parameter.std,
          parameter.mean,
          bound_of(parameter),
          parameter.is_matrix ? Value(parameter.gain) : Value(),
          parameter.fan_rule.empty() ? Value() : Value(parameter.fan_rule),
          parameter.formula,
          parameter.start == Start::truncated_normal ? Value(parameter.untruncated_std) : Value()};
}

/// Every parameter in the order of the forward pass.
report::Table parameter_rows(const NamedPlan& plan) {
  std::vector<std::vector<Value>> rows(plan.plan.parameters.size());
  for (const NamedTensor& tensor : plan.named.tensors)
    for (const std::size_t part : tensor.parts)
      rows[part] = row_of(plan.plan.parameters[part], tensor.name,
                          shape_text(tensor, plan.plan.parameters[part]));
  for (const std::size_t index : plan.named.unnamed) {
    const PlannedParameter& parameter = plan.plan.parameters[index];
    rows[index] = row_of(parameter, Value(),
                         std::to_string(parameter.rows) + "x" + std::to_string(parameter.columns));
  }
  return {columns(), std::move(rows)};
}

report::Table scales_table(const InitPlan& plan) {
  report::Table table{{"factor", "of", "value", "formula"}, {}};
  for (const PlannedScale& scale : plan.scales)
    table.rows.push_back({scale.what, scale.pattern, scale.value, scale.formula});
  return table;
}

/// Which of several questions these numbers answer, and who answers the others.
std::string answered(const ModelSpec& spec) {
  std::string text = "Std of the model as it is given: scheme " + spec.init.scheme;
  if (spec.init.scheme == "std") text += " " + report::format_number(spec.init.std);
  if (spec.kind != ModelSpec::Kind::layers && spec.lambda)
    text += ", lambda " + to_string(*spec.lambda);
  return text +
         ". --alpha auto --lambda auto solves the pair for the optimizer and the depth and keeps "
         "the scheme; scalecalc deepnorm --layers N tells that pair with a scheme of its own.";
}

}  // namespace

report::Table grouped_parameters(const NamedPlan& plan) {
  report::Table table{{"parameters", "of", "role", "start", "std", "bound", "rule", "formula"}, {}};
  std::map<std::string, std::size_t> row_of_key;
  for (const PlannedParameter& parameter : plan.plan.parameters) {
    const std::string pattern = path_pattern(parameter.path);
    const std::string key =
        pattern + "|" + to_string(parameter.start) + "|" + std::to_string(parameter.std);
    const auto [found, is_new] = row_of_key.emplace(key, table.rows.size());
    if (is_new)
      table.rows.push_back({pattern, std::int64_t{0}, parameter.role, to_string(parameter.start),
                            parameter.std > 0 ? Value(parameter.std) : Value(),
                            parameter.std > 0 ? bound_of(parameter) : Value(), parameter.fan_rule,
                            parameter.std > 0 ? parameter.formula : ""});
    Value& count = table.rows[found->second][1];
    count = std::get<std::int64_t>(count.data()) + 1;
  }
  return table;
}

report::Document init_document(const NamedPlan& plan, report::Format format) {
  report::Document document;
  document.command = "init";
  add_model(plan.model, plan.spec, document.inputs);
  document.inputs["names"] = plan.naming.name;
  const bool listed = format == report::Format::json || format == report::Format::csv;
  if (listed) document.rows = parameter_rows(plan);
  document.results["parameters"] = report::records(document.rows);
  document.results["scales"] = report::records(scales_table(plan.plan));
  const report::Table scales = scales_table(plan.plan);
  document.sections = {
      {base::shortened(plan.model) + ": how its parameters start", grouped_parameters(plan)}};
  if (!scales.rows.empty())
    document.sections.push_back({"Factors of the forward pass that no parameter holds", scales});
  document.sections.push_back({"", report::Paragraph{answered(plan.spec)}});
  document.sections.push_back(
      {"", report::Paragraph{"scalecalc init MODEL --target pytorch writes a module that does it; "
                             "--format json and csv list every parameter."}});
  return document;
}

}  // namespace scalecalc::cli
