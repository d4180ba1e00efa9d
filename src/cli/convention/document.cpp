#include "cli/convention/document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/text.hpp"

namespace scalecalc::cli {
namespace {

using report::Document;
using report::Facts;
using report::Paragraph;
using report::Table;
using report::Value;

Value optional(const std::optional<double>& number) {
  return number ? Value(*number) : Value();
}

/// Fans are whole unless a stride divides them.
Value fan(const std::optional<double>& number) {
  if (!number) return {};
  const bool whole = *number == std::floor(*number) && *number < 1e15;
  return whole ? Value(static_cast<std::int64_t>(*number)) : Value(*number);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

Value shape_value(const std::vector<std::int64_t>& shape) {
  Value list = Value::array();
  for (const std::int64_t size : shape) list.push_back(size);
  return list;
}

Value bounds_value(const ConventionParameter& parameter) {
  if (!parameter.bounds) return {};
  Value list = Value::array();
  list.push_back(parameter.bounds->first);
  list.push_back(parameter.bounds->second);
  return list;
}

Value truncation_value(const ConventionParameter& parameter) {
  if (!parameter.truncation) return {};
  const ConventionTruncation& cut = *parameter.truncation;
  Value entry = Value::object();
  entry["low_in_std"] = cut.low;
  entry["high_in_std"] = cut.high;
  entry["std_before"] = cut.parent_std;
  entry["std_ratio"] = cut.std_ratio;
  entry["corrected"] = cut.corrected;
  return entry;
}

void fill(Value& entry, const ConventionParameter& parameter) {
  entry["shape"] = parameter.shape.empty() ? Value() : shape_value(parameter.shape);
  entry["distribution"] = parameter.distribution;
  entry["mean"] = parameter.mean;
  entry["std"] = parameter.std;
  entry["variance"] = parameter.variance;
  entry["second"] = parameter.second;
  entry["bounds"] = bounds_value(parameter);
  entry["formula"] = parameter.formula;
  entry["bound_formulas"] = parameter.bounds
                                ? Value(Value::Array{parameter.low_formula, parameter.high_formula})
                                : Value();
  entry["fan_in"] = fan(parameter.fan_in);
  entry["fan_out"] = fan(parameter.fan_out);
  entry["true_fan_in"] = fan(parameter.true_fan_in);
  entry["true_fan_out"] = fan(parameter.true_fan_out);
  entry["std_true_fan"] = optional(parameter.std_true_fan);
  entry["output_second"] = optional(parameter.output_second);
  entry["truncation"] = truncation_value(parameter);
}

std::string bounds_text(const ConventionParameter& parameter) {
  if (!parameter.bounds) return "none";
  return fmt::format("[{}, {}]", report::format_number(parameter.bounds->first),
                     report::format_number(parameter.bounds->second));
}

Facts weights_facts(const Convention& answer, const ConventionParameter& weights) {
  Facts facts;
  const auto add = [&](const char* name, Value value) {
    if (!std::holds_alternative<std::monostate>(value.data())) {
      facts.rows.emplace_back(name, std::move(value));
    }
  };
  add("function", answer.function);
  if (!weights.shape.empty()) {
    add("shape", shape_text(weights.shape) + ", read as " + answer.layout);
  }
  if (!answer.layer.empty()) add("layer", answer.layer);
  add("distribution", weights.distribution);
  add("mean", weights.mean);
  add("std", weights.std);
  add("bounds", bounds_text(weights));
  add("std formula", weights.formula);
  add("fan_in counted", fan(weights.fan_in));
  add("fan_out counted", fan(weights.fan_out));
  add("true fan_in", fan(weights.true_fan_in));
  add("true fan_out", fan(weights.true_fan_out));
  add("std on the true fans", optional(weights.std_true_fan));
  add("second of an output", optional(weights.output_second));
  if (weights.truncation) {
    const ConventionTruncation& cut = *weights.truncation;
    add("cut at (std)",
        fmt::format("{}, {}{}", report::format_number(cut.low), report::format_number(cut.high),
                    cut.corrected ? ", corrected" : ""));
    add("std after/before", cut.std_ratio);
  }
  return facts;
}

Table parameters_table(const Convention& answer) {
  Table table{{"parameter", "shape", "distribution", "mean", "std", "bounds", "formula"}, {}};
  for (const ConventionParameter& parameter : answer.parameters) {
    table.rows.push_back({parameter.name, shape_text(parameter.shape), parameter.distribution,
                          parameter.mean, parameter.std, bounds_text(parameter),
                          parameter.formula});
  }
  return table;
}

Value low(const ConventionParameter& parameter) {
  return parameter.bounds ? Value(parameter.bounds->first) : Value();
}
Value high(const ConventionParameter& parameter) {
  return parameter.bounds ? Value(parameter.bounds->second) : Value();
}

const std::vector<std::string>& columns() {
  static const std::vector<std::string> names = {
      "parameter",   "shape",        "distribution", "mean",         "std",
      "low",         "high",         "formula",      "fan_in",       "fan_out",
      "true_fan_in", "true_fan_out", "std_true_fan", "output_second"};
  return names;
}
std::vector<Value> row(const ConventionParameter& parameter) {
  return {parameter.name,
          shape_text(parameter.shape),
          parameter.distribution,
          parameter.mean,
          parameter.std,
          low(parameter),
          high(parameter),
          parameter.formula,
          fan(parameter.fan_in),
          fan(parameter.fan_out),
          fan(parameter.true_fan_in),
          fan(parameter.true_fan_out),
          optional(parameter.std_true_fan),
          optional(parameter.output_second)};
}

}  // namespace

Document convention_document(const ConventionRequest& request, const Convention& answer) {
  const ConventionParameter& weights = answer.parameters.front();
  Document document;
  document.command = "convention";
  document.inputs["line"] = base::shortened(request.line);
  document.inputs["shape"] = request.shape.empty() ? Value() : shape_value(request.shape);
  document.results["framework"] = answer.framework;
  document.results["function"] = answer.function;
  document.results["layer"] = answer.layer.empty() ? Value() : Value(answer.layer);
  document.results["layout"] = answer.layout.empty() ? Value() : Value(answer.layout);
  fill(document.results, weights);
  Value notes = Value::array();
  for (const std::string& note : answer.notes) notes.push_back(note);
  document.results["notes"] = notes;
  Value parameters = Value::array();
  for (const ConventionParameter& parameter : answer.parameters) {
    Value entry = Value::object();
    entry["path"] = parameter.name;
    fill(entry, parameter);
    parameters.push_back(entry);
  }
  document.results["parameters"] = parameters;

  document.rows.columns = columns();
  for (const ConventionParameter& parameter : answer.parameters) {
    document.rows.rows.push_back(row(parameter));
  }
  document.sections.push_back({"What it draws", weights_facts(answer, weights)});
  if (answer.parameters.size() > 1) {
    document.sections.push_back({"Every tensor", parameters_table(answer)});
  }
  for (std::size_t k = 0; k < answer.notes.size(); ++k) {
    document.sections.push_back({k == 0 ? "Notes" : "", Paragraph{answer.notes[k]}});
  }
  return document;
}

Document convention_catalogue() {
  Document document;
  document.command = "convention";
  document.rows.columns = {"topic", "line"};
  for (const std::string& name : columns()) document.rows.columns.push_back(name);
  Value list = Value::array();
  Table table{{"line", "shape", "distribution", "std", "bounds", "std formula", "on true fans"},
              {}};
  std::string topic;
  const auto close = [&] {
    if (!table.rows.empty()) document.sections.push_back({topic, table});
    table.rows.clear();
  };
  for (const ConventionExample& example : convention_examples()) {
    if (example.topic != topic) close();
    topic = example.topic;
    const Convention answer = convention(example.request);
    const ConventionParameter& weights = answer.parameters.front();
    Value entry = Value::object();
    entry["topic"] = topic;
    entry["line"] = example.request.line;
    entry["framework"] = answer.framework;
    entry["layer"] = answer.layer.empty() ? Value() : Value(answer.layer);
    fill(entry, weights);
    list.push_back(entry);
    std::vector<Value> record = row(weights);
    record.insert(record.begin(), {topic, example.request.line});
    document.rows.rows.push_back(std::move(record));
    table.rows.push_back({example.request.line, shape_text(weights.shape), weights.distribution,
                          weights.std, bounds_text(weights), weights.formula,
                          optional(weights.std_true_fan)});
  }
  close();
  document.results["conventions"] = list;
  return document;
}

}  // namespace scalecalc::cli
