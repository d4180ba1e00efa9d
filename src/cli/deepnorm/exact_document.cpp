#include "cli/deepnorm/exact_document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scalecalc::cli {
namespace {

using report::format_number;
using report::Section;
using report::Table;
using report::Value;

constexpr std::size_t kRows = 9;  ///< sublayers of a table; all of them are in the JSON

Value point_value(const ExactPoint& point) {
  Value row = Value::object();
  row["layers"] = point.layers;
  row["alpha"] = point.alpha;
  row["lambda"] = point.lambda;
  row["delta_loss"] = point.delta_loss;
  return row;
}

/// What the constraint leaves to the equation, and what it gives by itself.
struct Written {
  std::string alpha, lambda;
};
Written written(const ExactSolution& solution) {
  const std::string equation = fmt::format("delta_loss(N={}) == delta_loss(N={})",
                                           solution.solved.layers, solution.reference.layers);
  const Constraint& constraint = solution.law.constraint;
  switch (constraint.kind) {
    case Constraint::Kind::symmetric: return {"1/lambda", equation};
    case Constraint::Kind::alpha: return {to_string(constraint.value), equation};
    case Constraint::Kind::lambda: break;
  }
  return {equation, to_string(constraint.value)};
}

Value sublayer_values(const DepthProfile& profile) {
  Value list = Value::array();
  for (const SublayerShare& one : profile.sublayers) {
    Value row = Value::object();
    row["path"] = one.path;
    row["share"] = one.share;
    row["identity"] = one.identity;
    row["second"] = one.stream;
    row["grad_second"] = one.grad_stream;
    row["gradient_norm"] = one.gradient;
    list.push_back(std::move(row));
  }
  return list;
}

Value scheme_values(const std::vector<DepthProfile>& schemes) {
  Value list = Value::array();
  for (const DepthProfile& profile : schemes) {
    Value row = Value::object();
    row["scheme"] = profile.scheme;
    row["alpha"] = profile.alpha;
    row["lambda"] = profile.lambda;
    row["identity_weight"] = profile.identity_weight;
    row["effective_depth"] = profile.effective_depth;
    row["delta_loss"] = profile.delta_loss;
    row["sublayers"] = sublayer_values(profile);
    list.push_back(std::move(row));
  }
  return list;
}

Section pair_section(const ExactSolution& solution) {
  Table table;
  table.columns = {"", "layers", "alpha", "lambda", "loss change"};
  const auto add = [&](const char* name, const ExactPoint& point) {
    table.rows.push_back({name, point.layers, format_number(point.alpha, 7),
                          format_number(point.lambda, 7), format_number(point.delta_loss, 6)});
  };
  add("reference, power law", solution.reference);
  add("power law", solution.by_law);
  add("exact", solution.solved);
  return {"Exact pair: the predicted loss change of this block is the reference's", table};
}

Section verdict(const ExactSolution& solution) {
  std::string text = fmt::format(
      "By the power law the loss change at {} layers is {} times that at {}; the exact pair makes "
      "it equal (residual {}).",
      solution.by_law.layers,
      format_number(solution.by_law.delta_loss / solution.reference.delta_loss, 4),
      solution.reference.layers, format_number(solution.residual, 2));
  for (const ShapeFactor& shape : solution.shapes)
    text += fmt::format(" {} = {}: {}.", shape.name, format_number(shape.value, 5), shape.text);
  return {"", report::Paragraph{text}};
}

Section scheme_section(const std::vector<DepthProfile>& schemes) {
  Table table;
  table.columns = {"scheme",          "alpha",           "lambda",         "identity weight",
                   "effective depth", "gradient, first", "gradient, last", "loss change"};
  for (const DepthProfile& profile : schemes) {
    const bool empty = profile.sublayers.empty();
    table.rows.push_back(
        {profile.scheme, format_number(profile.alpha, 5), format_number(profile.lambda, 5),
         format_number(profile.identity_weight, 4), format_number(profile.effective_depth, 4),
         empty ? "" : format_number(profile.sublayers.front().gradient, 4),
         empty ? "" : format_number(profile.sublayers.back().gradient, 4),
         format_number(profile.delta_loss, 4)});
  }
  return {"Schemes at this depth", table};
}

/// The first, the last and some in between.
Section sublayer_section(const DepthProfile& profile) {
  Table table;
  table.columns = {"sublayer", "branch's share", "identity left",
                   "E x^2",    "E (dL/dx)^2",    "gradient"};
  const std::size_t count = profile.sublayers.size(), rows = std::min(count, kRows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t at = rows < 2 ? 0 : i * (count - 1) / (rows - 1);
    const SublayerShare& one = profile.sublayers[at];
    table.rows.push_back({one.path, format_number(one.share, 4), format_number(one.identity, 4),
                          format_number(one.stream, 4), format_number(one.grad_stream, 4),
                          format_number(one.gradient, 4)});
  }
  return {"Sublayer by sublayer: " + profile.scheme, table};
}

Value shape_values(const std::vector<ShapeFactor>& shapes) {
  Value list = Value::array();
  for (const ShapeFactor& shape : shapes) {
    Value row = Value::object();
    row["name"] = shape.name;
    row["value"] = shape.value;
    row["text"] = shape.text;
    list.push_back(std::move(row));
  }
  return list;
}

void put_scaled(Value& results, const std::string& key, const Scaled& scaled) {
  results[key] = scaled.value;
  results[key + "_formula"] =
      Value::Formula{to_string(scaled.formula), to_string(scaled.formula, Notation::latex)};
}

}  // namespace

void put_exact_results(const ExactAnswer& answer, report::Value& results) {
  const ExactSolution& solution = answer.solution;
  const Written formulas = written(solution);
  Value law = point_value(solution.by_law);
  law["alpha_formula"] = solution.law.alpha_formula;
  law["lambda_formula"] = solution.law.lambda_formula;
  results["method"] = "exact";
  results["alpha"] = solution.solved.alpha;
  results["alpha_formula"] = formulas.alpha;
  results["lambda"] = solution.solved.lambda;
  results["lambda_formula"] = formulas.lambda;
  results["delta_loss"] = solution.solved.delta_loss;
  results["residual"] = solution.residual;
  results["reference"] = point_value(solution.reference);
  results["power_law"] = std::move(law);
  results["propagations"] = solution.propagations;
  results["shapes"] = shape_values(solution.shapes);
  put_scaled(results, "branch_weight", solution.branch_weight);
  put_scaled(results, "gradient_scale", solution.gradient_scale);
  put_scaled(results, "relative_step_scale", solution.relative_step_scale);
  Value assumptions = Value::array();
  for (const Premise& one : solution.assumptions) {
    Value row = Value::object();
    row["rule"] = one.rule;
    row["text"] = one.text;
    row["condition"] = one.condition;
    row["holds"] = one.holds;
    assumptions.push_back(std::move(row));
  }
  results["assumptions"] = std::move(assumptions);
  if (!answer.schemes.empty()) results["schemes"] = scheme_values(answer.schemes);
}

std::vector<Section> exact_sections(const ExactAnswer& answer) {
  std::vector<Section> sections = {pair_section(answer.solution), verdict(answer.solution)};
  if (answer.schemes.empty()) return sections;
  sections.push_back(scheme_section(answer.schemes));
  sections.push_back(sublayer_section(answer.schemes.front()));
  return sections;
}

}  // namespace scalecalc::cli
