#include "cli/solve/document.hpp"

#include "base/text.hpp"

namespace scalecalc::cli {
namespace {

using report::Document;
using report::Facts;
using report::Table;
using report::Value;

const std::map<std::string, std::string> no_digits;

Document document_of(const char* what) {
  Document document;
  document.command = "solve";
  document.inputs["what"] = what;
  return document;
}

Value digits_or(const std::string& digits, double value) {
  return digits.empty() ? Value(value) : Value(Value::Digits{digits});
}

/// Results by name, in the digits asked for where they were found.
class Numbers {
 public:
  explicit Numbers(const std::map<std::string, std::string>& digits) : digits_(digits) {}

  Value operator()(const char* name, double value) const {
    const auto found = digits_.find(name);
    return digits_or(found == digits_.end() ? "" : found->second, value);
  }
  Value operator()(const char* name, const std::optional<Estimate>& estimate) const {
    return estimate ? (*this)(name, estimate->value) : Value();
  }

 private:
  const std::map<std::string, std::string>& digits_;
};

/// The facts "name value meaning" of the results that are there, in order.
Facts facts_of(const Value& results,
               const std::vector<std::pair<std::string, std::string>>& names) {
  Facts facts;
  for (const auto& [key, name] : names) {
    const Value* value = results.find(key);
    if (value != nullptr && !std::holds_alternative<std::monostate>(value->data())) {
      facts.rows.emplace_back(name, *value);
    }
  }
  return facts;
}

Value solution_value(const SelfNormalizingAnswer& answer, std::size_t i) {
  const SelfNormalizing& solution = answer.solutions[i];
  Value entry = Value::object();
  const Numbers number(answer.digits.empty() ? no_digits : answer.digits[i]);
  entry["lambda"] = number("lambda", solution.lambda.value);
  entry["alpha"] = number("alpha", solution.alpha.value);
  entry["residual"] = solution.alpha.residual;
  entry["residual_second"] = solution.lambda.residual;
  entry["slope_second"] = number("slope_second", solution.slope_second);
  entry["q_slope"] = number("q_slope", solution.q_slope);
  entry["stable"] = solution.stable;
  return entry;
}

Value point_value(const FixedPoint& point, const Numbers& number) {
  Value entry = Value::object();
  entry["q_star"] = number("q_star", point.q_star.value);
  entry["residual"] = point.q_star.residual;
  entry["reached"] = point.reached;
  entry["phase"] = point.phase;
  entry["c_star"] = point.c_star ? number("c_star", point.c_star->value) : Value();
  entry["c_residual"] = point.c_star ? Value(point.c_star->residual) : Value();
  entry["chi"] = number("chi", point.chi);
  entry["q_slope"] = number("q_slope", point.q_slope);
  entry["q_stable"] = point.q_stable;
  entry["activation_second"] = number("activation_second", point.activation_second);
  entry["q_depth_scale"] = number("q_depth_scale", point.q_depth_scale);
  entry["c_depth_scale"] = number("c_depth_scale", point.c_depth_scale);
  entry["note"] = point.note;
  return entry;
}

}  // namespace

Document self_normalizing_document(const SelfNormalizingAnswer& answer) {
  Document document = document_of("self-normalizing");
  document.inputs["family"] = base::shortened(answer.family);
  Value range = Value::array();
  range.push_back(answer.low);
  range.push_back(answer.high);
  document.inputs["range"] = range;
  document.results = solution_value(answer, 0);
  Value all = Value::array();
  Table table{{"lambda", "alpha", "E slope^2", "q_slope", "stable", "residual"}, {}};
  for (std::size_t i = 0; i < answer.solutions.size(); ++i) {
    const Value entry = solution_value(answer, i);
    table.rows.push_back({*entry.find("lambda"), *entry.find("alpha"), *entry.find("slope_second"),
                          *entry.find("q_slope"), *entry.find("stable"), *entry.find("residual")});
    all.push_back(entry);
  }
  document.results["solutions"] = all;
  document.rows = table;
  document.sections = {
      {"lambda*phi_alpha with E = 0 and E^2 = 1 at N(0, 1): " + base::shortened(answer.family),
       table}};
  return document;
}

Document tuned_document(const TunedAnswer& answer) {
  Document document = document_of("tuned");
  document.inputs["activation"] = base::shortened(answer.activation);
  document.inputs["variance"] = answer.variance;
  Value& results = document.results;
  const Tuned& tuned = answer.tuned;
  const Numbers number(answer.digits);
  results["scale"] = number("scale", tuned.scale.value);
  results["shift"] = number("shift", tuned.shift.value);
  results["centred_scale"] = number("centred_scale", tuned.centred_scale.value);
  results["slope_before"] = number("slope_before", tuned.slope_before);
  results["slope_after"] = number("slope_after", tuned.slope_after);
  results["centred_slope_after"] = number("centred_slope_after", tuned.centred_slope_after);
  const auto formula = [](const std::optional<Expr>& expr) {
    return expr ? Value(to_string(*expr)) : Value();
  };
  results["scale_formula"] = formula(tuned.scale_formula);
  results["centred_formula"] = formula(tuned.centred_formula);
  results["residual"] = tuned.scale.error;
  document.sections = {
      {"scale*phi(x) has second moment 1, centred_scale*(phi(x) - shift) also mean 0",
       facts_of(results, {{"scale", "scale"},
                          {"shift", "shift"},
                          {"centred_scale", "centred_scale"},
                          {"slope_before", "E slope^2 of phi"},
                          {"slope_after", "E slope^2 scaled"},
                          {"centred_slope_after", "E slope^2 centred"},
                          {"scale_formula", "scale in q"},
                          {"centred_formula", "centred_scale in q"}})}};
  return document;
}

Document critical_document(const CriticalAnswer& answer) {
  const Critical& critical = answer.critical;
  const Numbers number(answer.digits);
  Document document = document_of("critical");
  document.inputs["activation"] = base::shortened(answer.activation);
  document.inputs["bias_variance"] = answer.both ? Value() : Value(critical.bias_variance);
  Value& results = document.results;
  results["weight_variance"] = number("weight_variance", critical.weight_variance.value);
  results["bias_variance"] = number("bias_variance", critical.bias_variance);
  results["q_star"] = number("q_star", critical.q_star);
  results["q_slope"] = number("q_slope", critical.q_slope);
  results["chi"] = 1;
  results["residual"] = critical.weight_variance.residual;
  results["note"] = critical.note;
  document.sections = {{answer.both ? "chi = 1 and slope of the q-map 1" : "chi = 1",
                        facts_of(results, {{"weight_variance", "weight variance x fan-in"},
                                           {"bias_variance", "bias variance"},
                                           {"q_star", "q*"},
                                           {"q_slope", "slope of the q-map"},
                                           {"residual", "residual"}})}};
  if (!critical.note.empty()) document.sections.push_back({"", report::Paragraph{critical.note}});
  return document;
}

Document fixed_point_document(const FixedPointAnswer& answer) {
  Document document = document_of("fixed-point");
  document.inputs["activation"] = base::shortened(answer.activation);
  document.inputs["weight_variance"] = answer.weight_variance;
  document.inputs["bias_variance"] = answer.bias_variance;
  Value all = Value::array();
  Table table{{"q*", "E phi^2", "phase", "chi", "c*", "slope of q", "depth of q", "depth of c", ""},
              {}};
  for (std::size_t i = 0; i < answer.points.size(); ++i) {
    const FixedPoint& point = answer.points[i];
    const Value entry =
        point_value(point, Numbers(answer.digits.empty() ? no_digits : answer.digits[i]));
    const auto cell = [&](const char* name) { return *entry.find(name); };
    std::string remark = point.reached ? "reached from q = 1" : "";
    if (!point.note.empty()) remark += (remark.empty() ? "" : "; ") + point.note;
    table.rows.push_back({cell("q_star"), cell("activation_second"), point.phase, cell("chi"),
                          cell("c_star"), cell("q_slope"), cell("q_depth_scale"),
                          cell("c_depth_scale"), remark});
    if (i == 0) document.results = entry;
    all.push_back(entry);
  }
  document.results["points"] = all;
  document.rows = table;
  document.sections = {{"Fixed points of q' = " + report::format_number(answer.weight_variance) +
                            "*E phi^2 + " + report::format_number(answer.bias_variance) + ", " +
                            base::shortened(answer.activation),
                        table}};
  return document;
}

Document truncated_document(const std::string& low, const std::string& high,
                            const TruncatedNormal& normal) {
  Document document = document_of("truncated-normal");
  Value bounds = Value::array();
  bounds.push_back(base::shortened(low));
  bounds.push_back(base::shortened(high));
  document.inputs["bounds"] = bounds;
  Value& results = document.results;
  const bool precise = normal.digits.size() == 4;
  const auto value = [&](std::size_t i, double rounded) {
    return digits_or(precise ? normal.digits[i] : "", rounded);
  };
  results["mean"] = value(0, normal.mean.value);
  results["variance"] = value(1, normal.variance.value);
  results["ratio"] = value(1, normal.ratio.value);
  results["std"] = value(2, 1 / normal.correction.value);
  results["correction"] = value(3, normal.correction.value);
  results["residual"] = normal.variance.error;
  document.sections = {{"A standard normal truncated to [" + base::shortened(low) + ", " +
                            base::shortened(high) + "]",
                        facts_of(results, {{"mean", "mean"},
                                           {"variance", "variance (its ratio to 1)"},
                                           {"std", "std"},
                                           {"correction", "correction 1/std"}})}};
  return document;
}

}  // namespace scalecalc::cli
