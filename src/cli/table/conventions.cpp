#include "scalecalc/conventions.hpp"
#include "cli/table/tables.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

Value value_of(const std::optional<double>& value) {
  return value ? Value(*value) : Value();
}

void add_rows(const ConventionExample& example, report::Table& table) {
  const Convention found = convention(example.request);
  std::string notes;
  for (const std::string& note : found.notes) notes += (notes.empty() ? "" : "; ") + note;
  for (const ConventionParameter& parameter : found.parameters) {
    const bool first = &parameter == &found.parameters.front();
    table.rows.push_back({example.topic, found.framework, example.request.line,
                          shape_text(example.request.shape), example.request.layer, parameter.name,
                          parameter.distribution, parameter.std,
                          parameter.bounds ? Value(parameter.bounds->second) : Value(),
                          parameter.formula, value_of(parameter.fan_in),
                          value_of(parameter.true_fan_in), value_of(parameter.std_true_fan),
                          value_of(parameter.output_second), first ? Value(notes) : Value()});
  }
}

}  // namespace

report::Document conventions_table_document() {
  report::Table table{
      {"topic", "framework", "line", "shape", "layer", "tensor", "distribution", "std", "bound",
       "formula", "fan_in", "true_fan_in", "std_true_fan", "output_second", "notes"},
      {}};
  for (const ConventionExample& example : convention_examples()) add_rows(example, table);
  return table_document(
      "conventions", "What lines of other frameworks really draw",
      "fan_in is what the framework counts, true_fan_in the terms of one output; std_true_fan is "
      "what the same rule gives on the true fans, and output_second the second moment of an output "
      "for inputs of second moment 1. scalecalc convention \"LINE\" --shape 1024x256 answers for "
      "any line.",
      std::move(table));
}

}  // namespace scalecalc::cli
