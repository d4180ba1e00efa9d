#include "cli/coordinates/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "cli/coordinates/values.hpp"
#include "cli/roots.hpp"

namespace scalecalc::cli {
namespace {

using report::Facts;
using report::Table;
using report::Value;

/// Two decimals, without the sign of what rounds to 0.
std::string decimals(double exponent) {
  const std::string text = fmt::format("{:.2f}", exponent);
  return text == "-0.00" ? "0.00" : text;
}

std::string verdict_of(const CoordinateAnswer& answer) {
  const std::size_t count = answer.check.findings.size();
  const std::string axis = to_string(answer.options.axis);
  if (!answer.check.finite) return "training gives infinities";
  if (count == 0) return "every number goes with the " + axis + " as it should";
  return fmt::format("{} number{} not go with the {} as {} should", count,
                     count == 1 ? " does" : "s do", axis, count == 1 ? "it" : "they");
}

/// Findings that differ in their tensor alone.
struct FindingGroup {
  const TransferFinding* finding;
  std::vector<std::string> tensors;
};
std::vector<FindingGroup> groups_of(const CoordinateAnswer& answer) {
  std::vector<FindingGroup> groups;
  for (const TransferFinding& finding : answer.check.findings) {
    const auto is_like = [&](const FindingGroup& group) {
      return base_lr_of(answer, *group.finding) == base_lr_of(answer, finding) &&
             group.finding->quantity == finding.quantity && group.finding->has == finding.has &&
             group.finding->wants == finding.wants;
    };
    auto found = std::ranges::find_if(groups, is_like);
    if (found == groups.end()) found = groups.insert(groups.end(), {&finding, {}});
    found->tensors.push_back(finding.tensor);
  }
  // What makes eps too large is the least of it.
  std::ranges::stable_partition(
      groups, [](const FindingGroup& group) { return group.finding->quantity != "eps"; });
  return groups;
}

/// The first two, and how many more.
std::string some_of(const std::vector<std::string>& tensors) {
  constexpr std::size_t shown = 2;
  std::string text = tensors.front();
  for (std::size_t i = 1; i < std::min(shown, tensors.size()); ++i) text += ", " + tensors[i];
  if (tensors.size() > shown) text += fmt::format(" and {} more", tensors.size() - shown);
  return text;
}

Table findings_table(const CoordinateAnswer& answer) {
  const std::string at = fmt::format("at {} {}", to_string(answer.options.axis),
                                     report::format_number(answer.sizes().back()));
  Table table;
  table.columns = {"number", "has", "wants", at, "of", "effect"};
  table.key_columns = 1;
  for (const FindingGroup& group : groups_of(answer)) {
    const TransferFinding& finding = *group.finding;
    const auto has = at_largest(answer, finding, finding.has);
    const auto wants = at_largest(answer, finding, finding.wants);
    table.rows.push_back(
        {finding.quantity, power_of(finding, finding.has), power_of(finding, finding.wants),
         has && wants
             ? Value(report::format_number(*has, 4) + " -> " + report::format_number(*wants, 4))
             : Value(""),
         some_of(group.tensors), effect_of(finding)});
  }
  return table;
}

/// What a prediction leaves out is as large as itself, at some size.
bool is_rough(const CoordinateSite& site, Coordinate coordinate, std::size_t step = 1) {
  return std::ranges::any_of(site.points, [&](const CoordinatePoint& point) {
    const Figure& figure = predicted_square(point, coordinate, step);
    return !(figure.truncation < figure.value);
  });
}

/// The site whose change after the last step grows fastest, and the one whose change by the first
/// step goes with a power the furthest from that of its prediction.
void add_measured(const CoordinateAnswer& answer, Facts& facts) {
  const std::vector<double> sizes = answer.sizes();
  std::string fastest, furthest;
  double most = -std::numeric_limits<double>::infinity(), off = -1;
  for (const CoordinateSite& site : answer.check.sites) {
    const auto last = measured_law(sizes, site, Coordinate::change, last_step(answer));
    if (last && last->exponent > most) {
      most = last->exponent;
      fastest = fmt::format("{}, power {}", site.path, power_text(*last));
    }
    const auto first = measured_law(sizes, site, Coordinate::change, 1);
    const auto predicted = predicted_exponent(sizes, site, Coordinate::change);
    if (!first || !predicted || is_rough(site, Coordinate::change) ||
        std::abs(first->exponent - *predicted) <= off)
      continue;
    off = std::abs(first->exponent - *predicted);
    furthest = fmt::format("{}, power {}, predicted {}", site.path, power_text(*first),
                           decimals(*predicted));
  }
  if (!fastest.empty())
    facts.rows.push_back({fmt::format("grows most by step {}", answer.options.steps), fastest});
  if (!furthest.empty()) facts.rows.push_back({"furthest from prediction", furthest});
}

/// "0.02, and 0.003 of the rest".
Value lr_text(const CoordinateOptions& options) {
  if (options.lr == options.rest_lr || !is_mixture(options)) return options.lr;
  return fmt::format("{}, and {} of the rest", report::format_number(options.lr),
                     report::format_number(options.rest_lr));
}

Facts facts_of(const CoordinatesAnswer& answer, const CoordinateAnswer& one) {
  Facts facts;
  facts.rows = {
      {"verdict", verdict_of(one)},
      {"optimizer", one.options.optimizer},
      {"lr", lr_text(one.options)},
      {"parametrization",
       answer.parametrization == "own" ? "the model's own numbers, kept" : answer.parametrization},
      {"steps", one.options.steps},
      {"seeds", one.options.seeds}};
  add_measured(one, facts);
  return facts;
}

/// What moves at all.
bool moves(const CoordinateSite& site) {
  return std::ranges::any_of(site.points, [](const CoordinatePoint& point) {
    return std::ranges::any_of(point.change.back(), [](double square) { return square != 0; });
  });
}

Table changes_table(const CoordinateAnswer& answer) {
  Table table;
  table.columns = {"site"};
  for (const double size : answer.sizes()) table.columns.push_back(report::format_number(size));
  table.columns.insert(table.columns.end(), {"exponent", "+-"});
  table.key_columns = 1;
  constexpr int digits = 4;
  for (const CoordinateSite& site : answer.check.sites) {
    if (!moves(site)) continue;
    std::vector<Value> row = {site.path};
    for (const CoordinatePoint& point : site.points)
      row.push_back(report::format_number(root_of_mean(point.change.back()).value, digits));
    const auto law = measured_law(answer.sizes(), site, Coordinate::change, last_step(answer));
    row.push_back(law ? Value(decimals(law->exponent)) : Value());
    row.push_back(law && std::isfinite(law->standard_error) ? Value(decimals(law->standard_error))
                                                            : Value());
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Of each site before the first step, after it and after the last: what is measured beside what
/// was predicted.
Table exponents_table(const CoordinateAnswer& answer) {
  Table table;
  table.columns = {"site", "at init", "predicted", "moved by step 1", "+-", "predicted"};
  std::vector<std::size_t> steps = {1};
  if (last_step(answer) > 1) {
    steps.push_back(last_step(answer));
    table.columns.insert(table.columns.end(),
                         {fmt::format("by step {}", last_step(answer)), "+-", "predicted"});
  }
  table.key_columns = 1;
  const std::vector<double> sizes = answer.sizes();
  const auto shown = [](const std::optional<double>& exponent) {
    return exponent && std::isfinite(*exponent) ? Value(decimals(*exponent)) : Value();
  };
  const auto predicted = [&](const CoordinateSite& site, Coordinate coordinate, std::size_t step) {
    const auto exponent = predicted_exponent(sizes, site, coordinate, step);
    if (!exponent) return Value();
    return Value(decimals(*exponent) + (is_rough(site, coordinate, step) ? " ?" : ""));
  };
  const auto exponent_of = [](const std::optional<SizeLaw>& law) {
    return law ? std::optional(law->exponent) : std::nullopt;
  };
  for (const CoordinateSite& site : answer.check.sites) {
    const auto start = measured_law(sizes, site, Coordinate::value, 0);
    std::vector<Value> row = {site.path, shown(exponent_of(start)),
                              predicted(site, Coordinate::value, 0)};
    for (const std::size_t step : steps) {
      const auto moved = measured_law(sizes, site, Coordinate::change, step);
      row.push_back(shown(exponent_of(moved)));
      row.push_back(shown(moved ? std::optional(moved->standard_error) : std::nullopt));
      row.push_back(predicted(site, Coordinate::change, step));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table rows_of(const CoordinatesAnswer& answer) {
  Table table;
  table.columns = {"axis",      "size",   "step",         "site",          "rms",
                   "rms_error", "change", "change_error", "predicted_rms", "predicted_change"};
  for (const CoordinateAnswer& one : answer.checks)
    for (std::size_t i = 0; i < one.options.sizes.size(); ++i)
      for (std::size_t step = 0; step <= last_step(one); ++step)
        for (const CoordinateSite& site : one.check.sites) {
          const CoordinatePoint& point = site.points[i];
          const RootOfMean rms = root_of_mean(point.second[step]),
                           change = root_of_mean(point.change[step]);
          const auto predicted = [](bool is_there, const Figure& square) {
            return is_there && square.is_known() ? Value(root_of(square)) : Value();
          };
          table.rows.push_back(
              {to_string(one.options.axis), one.options.sizes[i].size,
               static_cast<std::int64_t>(step), site.path, rms.value, rms.error, change.value,
               change.error, predicted(step == 0, point.predicted_second),
               predicted(step > 0, predicted_square(point, Coordinate::change, step))});
        }
  return table;
}

Value inputs_of(const CoordinatesAnswer& answer) {
  const CoordinateOptions& options = answer.checks.front().options;
  Value inputs = Value::object();
  inputs["model"] = answer.model;
  inputs["parametrization"] = answer.parametrization;
  inputs["optimizer"] = options.optimizer;
  inputs["lr"] = options.lr;
  inputs["rest_lr"] = is_mixture(options) ? Value(options.rest_lr) : Value();
  inputs["steps"] = options.steps;
  inputs["seeds"] = options.seeds;
  inputs["seed"] = static_cast<std::int64_t>(options.passes.seed);
  inputs["device"] = options.passes.device;
  return inputs;
}

}  // namespace

Value law_value(const std::optional<SizeLaw>& law) {
  if (!law) return {};
  Value value = Value::object();
  value["exponent"] = law->exponent;
  value["standard_error"] = law->standard_error;
  return value;
}

std::string power_text(const SizeLaw& law) {
  const std::string exponent = decimals(law.exponent);
  return std::isfinite(law.standard_error)
             ? fmt::format("{} +- {:.2f}", exponent, law.standard_error)
             : exponent;
}

std::vector<double> CoordinateAnswer::sizes() const {
  std::vector<double> made;
  for (const CoordinateSize& each : options.sizes) made.push_back(each.size);
  return made;
}

bool CoordinatesAnswer::holds() const {
  return std::ranges::all_of(checks, &CoordinateAnswer::holds);
}

report::Document coordinates_document(const CoordinatesAnswer& answer) {
  report::Document document;
  document.command = "coordinates";
  document.inputs = inputs_of(answer);
  Value checks = Value::array();
  for (const CoordinateAnswer& one : answer.checks) checks.push_back(check_value(one));
  document.results["holds"] = answer.holds();
  document.results["checks"] = checks;
  document.rows = rows_of(answer);
  for (const CoordinateAnswer& one : answer.checks) {
    const std::string axis = to_string(one.options.axis);
    document.sections.push_back(
        {base::shortened(answer.model) + " by its " + axis, facts_of(answer, one)});
    if (!one.check.findings.empty())
      document.sections.push_back({"Numbers that do not fit", findings_table(one)});
    document.sections.push_back({fmt::format("How far sites have moved after step {} (rms), by {}",
                                             one.options.steps, axis),
                                 changes_table(one)});
    document.sections.push_back({"Powers of the " + axis, exponents_table(one)});
    std::string remarks;
    for (const std::string& remark : one.check.remarks)
      remarks += (remarks.empty() ? "- " : "\n- ") + remark;
    if (!remarks.empty()) document.sections.push_back({"Note", report::Paragraph{remarks}});
  }
  return document;
}

}  // namespace scalecalc::cli
