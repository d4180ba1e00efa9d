#include "cli/coordinates/values.hpp"

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "cli/roots.hpp"

namespace scalecalc::cli {

bool is_mixture(const CoordinateOptions& options) {
  return options.optimizer.starts_with("muon") || options.optimizer.find('+') != std::string::npos;
}

std::size_t last_step(const CoordinateAnswer& answer) {
  return static_cast<std::size_t>(answer.options.steps);
}

RootOfMean root_of_mean(const std::vector<double>& squares) {
  const Figure mean{base::sample_mean(squares), std::max(0.0, base::error_of_mean(squares)), 0};
  RootOfMean made{root_of(mean), {}};
  if (squares.size() > 1) made.error = error_of_root(mean, &Figure::error);
  return made;
}

std::string power_of(const TransferFinding& finding, const Rational& exponent) {
  Exponents power;
  power[finding.axis] = exponent;
  return power.formula();
}

std::optional<double> base_lr_of(const CoordinateAnswer& answer, const TransferFinding& finding) {
  if (finding.quantity != "lr") return {};
  return answer.check.base_lr.at(finding.tensor);
}

std::optional<double> at_largest(const CoordinateAnswer& answer, const TransferFinding& finding,
                                 const Rational& exponent) {
  const std::optional<double> base = base_lr_of(answer, finding);
  if (!base) return {};
  const double ratio = answer.sizes().back() / answer.sizes().front();
  return *base * std::pow(ratio, exponent.to_double());
}

const char* effect_of(const TransferFinding& finding) {
  const bool more = finding.wants < finding.has;
  if (finding.quantity == "lr") return more ? "steps move ever more" : "steps move ever less";
  if (finding.quantity == "std") return more ? "sizes at init grow" : "sizes at init fall";
  if (finding.quantity == "decay") return more ? "forgotten faster" : "forgotten slower";
  if (finding.quantity == "eps") return "swamps gradients: steps fall";
  if (finding.quantity == "scale") return more ? "scores grow once q and k align" : "scores fall";
  if (finding.tensor != "branch") return more ? "sizes at init grow" : "sizes at init fall";
  return more ? "the sum of the branches grows" : "branches vanish";
}

namespace {

using report::Value;

Value findings_value(const CoordinateAnswer& answer) {
  Value list = Value::array();
  for (const TransferFinding& finding : answer.check.findings) {
    Value entry = Value::object();
    entry["tensor"] = finding.tensor;
    entry["quantity"] = finding.quantity;
    entry["has"] = finding.has.to_string();
    entry["wants"] = finding.wants.to_string();
    const auto has = at_largest(answer, finding, finding.has);
    const auto wants = at_largest(answer, finding, finding.wants);
    entry["has_value"] = has ? Value(*has) : Value();
    entry["wants_value"] = wants ? Value(*wants) : Value();
    entry["effect"] = effect_of(finding);
    list.push_back(entry);
  }
  return list;
}

void add_roots(const char* name, const std::vector<std::vector<double>>& squares, Value& entry) {
  Value values = Value::array(), errors = Value::array();
  for (const std::vector<double>& step : squares) {
    const RootOfMean root = root_of_mean(step);
    values.push_back(root.value);
    errors.push_back(root.error);
  }
  entry[name] = values;
  entry[std::string(name) + "_error"] = errors;
}

void add_prediction(const char* name, const Figure& square, Value& entry) {
  const std::string key = std::string("predicted_") + name;
  const bool is_known = square.is_known();
  entry[key] = is_known ? Value(root_of(square)) : Value();
  entry[key + "_error"] = is_known ? error_of_root(square, &Figure::error) : Value();
  entry[key + "_truncation"] = is_known ? error_of_root(square, &Figure::truncation) : Value();
}

void add_laws(const CoordinateAnswer& answer, const CoordinateSite& site, const char* name,
              Coordinate coordinate, Value& entry) {
  const std::vector<double> sizes = answer.sizes();
  Value laws = Value::array();
  for (std::size_t step = 0; step <= last_step(answer); ++step)
    laws.push_back(law_value(measured_law(sizes, site, coordinate, step)));
  entry[std::string(name) + "_laws"] = laws;
  const auto predicted = predicted_exponent(sizes, site, coordinate);
  entry[std::string("predicted_") + name + "_exponent"] = predicted ? Value(*predicted) : Value();
}

/// By step, as what is measured is.
void add_predicted_changes(const CoordinateAnswer& answer, const CoordinatePoint& point,
                           Value& entry) {
  Value values = Value::array(), left_out = Value::array();
  for (std::size_t step = 0; step <= last_step(answer); ++step) {
    const Figure& square = predicted_square(point, Coordinate::change, step);
    values.push_back(square.is_known() ? Value(root_of(square)) : Value());
    left_out.push_back(square.is_known() ? error_of_root(square, &Figure::truncation) : Value());
  }
  entry["predicted_changes"] = values;
  entry["predicted_changes_truncation"] = left_out;
}

void add_predicted_laws(const CoordinateAnswer& answer, const CoordinateSite& site, Value& entry) {
  Value laws = Value::array();
  for (std::size_t step = 0; step <= last_step(answer); ++step) {
    const auto predicted = predicted_exponent(answer.sizes(), site, Coordinate::change, step);
    laws.push_back(predicted ? Value(*predicted) : Value());
  }
  entry["predicted_change_exponents"] = laws;
}

Value sites_value(const CoordinateAnswer& answer) {
  Value list = Value::array();
  for (const CoordinateSite& site : answer.check.sites) {
    Value entry = Value::object();
    entry["path"] = site.path;
    entry["kind"] = site.kind;
    Value points = Value::array();
    for (std::size_t i = 0; i < site.points.size(); ++i) {
      const CoordinatePoint& point = site.points[i];
      Value one = Value::object();
      one["size"] = answer.options.sizes[i].size;
      add_roots("rms", point.second, one);
      add_roots("change", point.change, one);
      add_prediction("rms", point.predicted_second, one);
      add_prediction("change", predicted_square(point, Coordinate::change), one);
      add_predicted_changes(answer, point, one);
      points.push_back(one);
    }
    entry["points"] = points;
    add_laws(answer, site, "rms", Coordinate::value, entry);
    add_laws(answer, site, "change", Coordinate::change, entry);
    add_predicted_laws(answer, site, entry);
    list.push_back(entry);
  }
  return list;
}

Value losses_value(const CoordinateAnswer& answer) {
  Value list = Value::array();
  for (const auto& of_size : answer.check.loss) {
    Value steps = Value::array();
    for (const std::vector<double>& seeds : of_size) steps.push_back(base::sample_mean(seeds));
    list.push_back(steps);
  }
  return list;
}

}  // namespace

Value check_value(const CoordinateAnswer& answer) {
  Value value = Value::object();
  value["axis"] = to_string(answer.options.axis);
  Value sizes = Value::array();
  for (const double size : answer.sizes()) sizes.push_back(size);
  value["sizes"] = sizes;
  value["holds"] = answer.holds();
  value["finite"] = answer.check.finite;
  value["findings"] = findings_value(answer);
  value["sites"] = sites_value(answer);
  value["loss"] = losses_value(answer);
  Value remarks = Value::array();
  for (const std::string& remark : answer.check.remarks) remarks.push_back(remark);
  value["remarks"] = remarks;
  return value;
}

}  // namespace scalecalc::cli
