#include <fmt/format.h>

#include <cmath>

#include "cli/propagate/document.hpp"
#include "cli/propagate/stack.hpp"
#include "cli/roots.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

Value known_root(const Figure& square) {
  return square.is_known() ? Value(root_of(square)) : Value();
}
Value error_of(const Figure& square, NonNegative Figure::*part) {
  return square.is_known() ? error_of_root(square, part) : Value();
}
Value ratio(const Figure& square, double second) {
  return second > 0 && square.is_known() ? Value(root_of(square) / std::sqrt(second)) : Value();
}

Value sites_of(const FirstStep& step) {
  Value list = Value::array();
  for (const StepSite& site : step.sites) {
    Value entry = Value::object();
    entry["path"] = site.path;
    entry["change"] = root_of(site.change);
    entry["relative"] = ratio(site.change, site.second);
    entry["error"] = error_of_root(site.change, &Figure::error);
    entry["truncation"] = error_of_root(site.change, &Figure::truncation);
    list.push_back(entry);
  }
  return list;
}

Value parameters_of(const PropagateAnswer& answer) {
  Value list = Value::array();
  for (const StepParameter& parameter : answer.step->parameters) {
    Value entry = Value::object();
    entry["path"] = parameter.path;
    entry["lr"] = answer.lr_of.at(parameter.path);
    entry["update"] = root_of(parameter.update);
    entry["relative"] = ratio(parameter.update, parameter.second);
    const Figure &moved = parameter.update_norm, &start = parameter.norm;
    entry["spectral_norm"] = known_root(moved);
    entry["spectral_relative"] = start.is_known() ? ratio(moved, start.value) : Value();
    entry["spectral_error"] = error_of(moved, &Figure::error);
    entry["spectral_truncation"] = error_of(moved, &Figure::truncation);
    entry["weight_spectral_norm"] = known_root(start);
    list.push_back(entry);
  }
  return list;
}

/// Sites, then parameters, as the rows are.
void add_columns(const FirstStep& step, report::Table& table) {
  table.columns.push_back("step_change");
  table.columns.push_back("step_relative");
  std::size_t row = 0;
  const auto add = [&](const Figure& change, double second) {
    table.rows[row].push_back(root_of(change));
    table.rows[row++].push_back(ratio(change, second));
  };
  for (const StepSite& site : step.sites) add(site.change, site.second);
  for (const StepParameter& parameter : step.parameters) add(parameter.update, parameter.second);
}

}  // namespace

void add_step(const PropagateAnswer& answer, report::Format format, report::Document& document) {
  const FirstStep& step = *answer.step;
  if (format == report::Format::json) {
    Value value = Value::object();
    value["optimizer"] = answer.optimizer;
    value["lr"] = answer.lr;
    value["steps"] = answer.steps;
    value["loss_change"] = step.loss_change.value;
    value["loss_change_error"] = std::isfinite(double{step.loss_change.error})
                                     ? Value(double{step.loss_change.error})
                                     : Value();
    value["loss_change_truncation"] = double{step.loss_change.truncation};
    value["sites"] = sites_of(step);
    value["parameters"] = parameters_of(answer);
    value["assumptions"] = assumptions_of(step.assumptions);
    document.results["step"] = value;
    return;
  }
  if (format == report::Format::csv) return add_columns(step, document.rows);
  report::Facts facts;
  facts.rows.push_back({"optimizer", answer.optimizer});
  facts.rows.push_back({"lr", answer.lr});
  facts.rows.push_back({"change of the loss", step.loss_change.value});
  const bool is_one = answer.steps == 1;
  document.sections.push_back(
      {is_one ? "After the first step" : fmt::format("After {} steps", answer.steps), facts});
  document.sections.push_back(
      {is_one ? "How far the step moves each site" : "How far the steps move each site",
       stack_table(step.sites, {"site", "rms change", "of rms value", "truncation"},
                   [](const StepSite& site) {
                     return std::vector<Value>{site.path, root_of(site.change),
                                               ratio(site.change, site.second),
                                               error_of_root(site.change, &Figure::truncation)};
                   })});
  document.sections.push_back(
      {is_one ? "How far it moves each parameter" : "How far the last moves each parameter",
       stack_table(step.parameters,
                   {"parameter", "rms change", "of rms value", "spectral norm", "of weight's"},
                   [](const StepParameter& parameter) {
                     const Figure &moved = parameter.update_norm, &start = parameter.norm;
                     return std::vector<Value>{
                         parameter.path, root_of(parameter.update),
                         ratio(parameter.update, parameter.second), known_root(moved),
                         start.is_known() ? ratio(moved, start.value) : Value()};
                   })});
  if (!step.assumptions.empty())
    document.sections.push_back(
        {"Taken for granted of the step", assumptions_table(step.assumptions)});
}

}  // namespace scalecalc::cli
