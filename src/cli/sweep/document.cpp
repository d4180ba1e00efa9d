#include "cli/sweep/document.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/figures.hpp"
#include "cli/propagate/document.hpp"

namespace scalecalc::cli {
namespace {

using report::Facts;
using report::Value;

const char* statistic(const SweepResult& result) {
  return result.by_median ? "median" : "mean";
}

template <class Number>
Value numbers_of(const std::vector<Number>& numbers) {
  Value list = Value::array();
  for (Number number : numbers) list.push_back(number);
  return list;
}

Value inputs_of(const SweepAnswer& answer) {
  const SweepOptions& options = answer.options;
  Value inputs = Value::object();
  inputs["model"] = answer.model.empty() ? Value() : Value(answer.model);
  inputs["layers"] = numbers_of(options.layers);
  if (!options.widths.empty()) inputs["widths"] = numbers_of(options.widths);
  if (options.model.encoder_decoder)
    inputs["decoder_layers"] = to_string(options.model.decoder_layers);
  inputs["quantity"] = to_string(options.quantity);
  inputs["optimizer"] = answer.optimizer;
  inputs["constraint"] = answer.constraint.empty() ? Value() : Value(answer.constraint);
  inputs["kind"] = to_string(options.model.kind);
  add_fields(options.model,
             {"placement", "alpha", "lambda", "width", "heads", "ffn", "causal", "sequence",
              "vocab", "batch", "activation", "norm", "cross"},
             inputs);
  inputs["parameters"] = options.parameters == ParameterSet::all ? "all" : "branch";
  inputs["seeds"] = options.seeds;
  inputs["seed"] = static_cast<std::int64_t>(options.seed);
  inputs["eta"] = options.eta > 0 ? Value(options.eta) : Value();
  inputs["dtype"] = options.single_precision ? "float" : "double";
  inputs["device"] = options.device;
  inputs["engine"] = to_string(answer.options.engine);
  return inputs;
}

Value results_of(const SweepAnswer& answer) {
  Value results = Value::object();
  results["points"] = sweep_points(answer.result);
  results["axis"] = answer.result.by_width ? "width" : "depth";
  results["exponent"] = answer.result.exponent;
  results["exponent_standard_error"] = answer.result.exponent_standard_error;
  results["statistic"] = statistic(answer.result);
  results["quantity"] = to_string(answer.options.quantity);
  results["family"] = answer.family;
  if (!answer.result.no_exponent.empty()) results["no_exponent"] = answer.result.no_exponent;
  results["finite"] = answer.result.finite;
  return results;
}

const char* meaning(Quantity quantity) {
  switch (quantity) {
    case Quantity::delta_loss: return "first-order loss change of one step, divided by eta";
    case Quantity::actual_delta_loss:
      return "loss before minus loss after one step, divided by eta";
    case Quantity::grad_norm: return "norm of the gradient";
    case Quantity::update_ratio: return "size of the step against the parameter, divided by eta";
    case Quantity::probe: return "|dL/dlambda| of W = lambda U, root mean square over matrices";
  }
  return "";
}

const char* counted(ParameterSet parameters) {
  return parameters == ParameterSet::all
             ? "all parameters"
             : "the weight matrices inside the residual branches (no embedding, head, biases or "
               "norm gains)";
}

std::string exponent_text(const SweepResult& result) {
  if (!result.no_exponent.empty()) return "none: " + result.no_exponent;
  const std::string value = report::format_number(result.exponent, 3);
  const double error = result.exponent_standard_error;
  return value + (std::isnan(error) ? "" : " +- " + report::format_number(error, 2)) +
         (result.by_width ? "  (d ln value / d ln width)" : "  (d ln value / d ln N)");
}

Facts facts_of(const SweepAnswer& answer) {
  const SweepResult& result = answer.result;
  Facts facts;
  facts.rows = {
      {"exponent", exponent_text(result)},
      {"value", meaning(answer.options.quantity)},
      {"statistic",
       answer.options.engine == SweepEngine::passes
           ? fmt::format("{} over {} seeds", statistic(result), answer.options.seeds)
           : fmt::format("predicted from second moments, {}",
                         answer.options.quantity == Quantity::delta_loss ? "of the typical draw"
                                                                         : "means over draws")},
      {"counted", counted(answer.options.parameters)},
      {"alpha, lambda", fmt::format("{}, {}", to_string(*answer.options.model.alpha),
                                    to_string(*answer.options.model.lambda))}};
  if (!answer.constraint.empty()) {
    facts.rows.push_back({"solved for", answer.family + ", " + answer.constraint});
  }
  if (!result.finite) {
    facts.rows.push_back({"warning", "a pass gave an infinity or a NaN"});
  }
  return facts;
}

}  // namespace

Value sweep_points(const SweepResult& result) {
  Value points = Value::array();
  for (const SweepPoint& point : result.points) {
    Value entry = Value::object();
    entry["layers"] = point.layers;
    if (point.decoder_layers > 0) entry["decoder_layers"] = point.decoder_layers;
    if (point.width > 0) entry["width"] = point.width;
    entry["alpha"] = point.alpha;
    entry["lambda"] = point.lambda;
    entry["value"] = point.value;
    entry["standard_error"] = point.standard_error;
    entry["mean"] = point.mean;
    entry["median"] = point.median;
    entry["samples"] = numbers_of(point.samples);
    points.push_back(entry);
  }
  return points;
}

/// Nothing where there is none: of one seed, and of a prediction.
Value error_of(const SweepPoint& point) {
  return std::isfinite(point.standard_error) ? Value(point.standard_error) : Value();
}

report::Table sweep_table(const SweepResult& result) {
  report::Table table{{result.by_width ? "width" : "layers", "alpha", "lambda", "value",
                       "standard_error", "mean", "median"},
                      {}};
  // Between widths both stacks keep their depths.
  const bool has_decoder =
      !result.by_width && !result.points.empty() && result.points.front().decoder_layers > 0;
  for (const SweepPoint& point : result.points) {
    table.rows.push_back({result.by_width ? point.width : point.layers, point.alpha, point.lambda,
                          point.value, error_of(point), point.mean, point.median});
    if (has_decoder) table.rows.back().insert(table.rows.back().begin() + 1, point.decoder_layers);
  }
  if (has_decoder) table.columns.insert(table.columns.begin() + 1, "decoder");
  return table;
}

report::Document sweep_document(const SweepAnswer& answer) {
  report::Document document;
  document.command = "sweep";
  document.inputs = inputs_of(answer);
  document.results = results_of(answer);
  document.rows = sweep_table(answer.result);
  const std::string title =
      fmt::format("{} by {}: {}, {}", to_string(answer.options.quantity),
                  answer.result.by_width ? "width" : "depth", answer.optimizer,
                  to_string(answer.options.model.placement));
  document.sections = {
      {title, document.rows}, along_depth(answer.result), {"Fit", facts_of(answer)}};
  return document;
}

}  // namespace scalecalc::cli
