#include "cli/coordinates/measured.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "cli/coordinates/document.hpp"
#include "cli/standard_input.hpp"

namespace scalecalc::cli {
namespace {

using report::Table;
using report::Value;

bool is_wrong(const MeasuredTrend& site) {
  return site.trend != Trend::steady && site.trend != Trend::unknown;
}

bool is_any_known(const MeasuredAnswer& answer) {
  return std::ranges::any_of(
      answer.trends, [](const MeasuredTrend& site) { return site.trend != Trend::unknown; });
}

Value power_cell(const std::optional<SizeLaw>& law) {
  return law ? Value(power_text(*law)) : Value();
}

/// What mends it, where one number does.
std::string advice_for(const MeasuredTrend& site, const std::string& axis) {
  const auto times = [&](const SizeLaw& law) {
    return fmt::format("{}^{:.2f}", axis, -law.exponent);
  };
  switch (site.trend) {
    case Trend::grows_at_init:
      return "std of the weights that make it, times " + times(*site.first);
    case Trend::grows_in_training:
      return "learning rate of the weights that make it, times about " + times(*site.last);
    case Trend::falls: return "its size or its steps are too small, by " + times(*site.last);
    case Trend::diverges:
      return site.first ? "a smaller learning rate" : "a smaller std, or a smaller learning rate";
    case Trend::steady:
    case Trend::unknown: break;
  }
  return {};
}

Value table_value(const MeasuredAnswer& answer) {
  Value value = Value::object();
  value["axis"] = answer.table.axis;
  value["quantity"] = answer.table.quantity;
  Value sizes = Value::array(), steps = Value::array(), sites = Value::array();
  for (const double size : answer.table.sizes) sizes.push_back(size);
  for (const std::int64_t step : answer.table.steps) steps.push_back(step);
  for (const MeasuredTrend& site : answer.trends) {
    Value entry = Value::object();
    entry["path"] = site.path;
    entry["first"] = law_value(site.first);
    entry["last"] = law_value(site.last);
    entry["trend"] = to_string(site.trend);
    const std::string advice = advice_for(site, answer.table.axis);
    entry["advice"] = advice.empty() ? Value() : Value(advice);
    sites.push_back(entry);
  }
  value["sizes"] = sizes;
  value["steps"] = steps;
  value["sites"] = sites;
  return value;
}

Table trends_table(const MeasuredAnswer& answer) {
  Table table;
  const bool several = answer.table.steps.size() > 1;
  table.columns = {"site"};
  if (several) table.columns.push_back(fmt::format("step {}", answer.table.steps.front()));
  table.columns.insert(table.columns.end(), {fmt::format("step {}", answer.table.steps.back()),
                                             "trend", "what mends it"});
  table.key_columns = 1;
  for (const MeasuredTrend& site : answer.trends) {
    std::vector<Value> row = {site.path};
    if (several) row.push_back(power_cell(site.first));
    row.insert(row.end(),
               {power_cell(site.last), to_string(site.trend), advice_for(site, answer.table.axis)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table rows_of(const MeasuredAnswer& answer) {
  Table table;
  table.columns = {"site", "trend", "first", "first_error", "last", "last_error"};
  const auto add = [](const std::optional<SizeLaw>& law, std::vector<Value>& row) {
    row.push_back(law ? Value(law->exponent) : Value());
    row.push_back(law ? report::known(law->standard_error) : Value());
  };
  for (const MeasuredTrend& site : answer.trends) {
    std::vector<Value> row = {site.path, to_string(site.trend)};
    add(site.first, row);
    add(site.last, row);
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Facts facts_of(const MeasuredAnswer& answer) {
  const auto first = std::ranges::find_if(answer.trends, is_wrong);
  report::Facts facts;
  facts.rows.push_back(
      {"verdict", !is_any_known(answer) ? std::string("no site can be judged")
                  : first == answer.trends.end()
                      ? "no site grows or falls"
                      : fmt::format("{} {}", first->path, to_string(first->trend))});
  const auto unknown = std::ranges::count(answer.trends, Trend::unknown, &MeasuredTrend::trend);
  if (unknown > 0)
    facts.rows.push_back({"unknown", fmt::format("{} of {}: 0 or missing at some size, or within "
                                                 "the error of the fit",
                                                 unknown, answer.trends.size())});
  if (first != answer.trends.end()) {
    const auto count = std::ranges::count_if(answer.trends, is_wrong);
    facts.rows.push_back(
        {"sites that are not steady", fmt::format("{} of {}", count, answer.trends.size())});
  }
  facts.rows.push_back({"steady", fmt::format("a power of the {} within {} and two standard errors",
                                              answer.table.axis, steady_power)});
  return facts;
}

}  // namespace

bool MeasuredAnswer::holds() const {
  return std::ranges::none_of(trends, is_wrong) && is_any_known(*this);
}

MeasuredAnswer judge_measured(const std::string& path) {
  constexpr std::uint64_t most = std::uint64_t{64} << 20U;
  const bool is_typed = path == kStandardInput;
  const std::string name = is_typed ? kStandardInputName : path;
  const std::string text =
      is_typed ? read_standard_input("table")
               : base::read_input(
                     path, {"table", "give the path of a CSV: site,width,step,rms", most, true});
  MeasuredAnswer answer{name, parse_measured(text, name), {}};
  answer.trends = trends_of(answer.table);
  return answer;
}

report::Document measured_document(const MeasuredAnswer& answer) {
  report::Document document;
  document.command = "coordinates";
  document.inputs["measured"] = answer.path;
  document.results["holds"] = answer.holds();
  document.results["measured"] = table_value(answer);
  document.rows = rows_of(answer);
  document.sections = {
      {base::shortened(answer.path) + " by its " + answer.table.axis, facts_of(answer)},
      {fmt::format("Powers of the {} that {} goes with", answer.table.axis, answer.table.quantity),
       trends_table(answer)}};
  return document;
}

report::Figure measured_figure(const MeasuredAnswer& answer) {
  report::Figure figure;
  figure.title = base::shortened(answer.path);
  std::vector<std::size_t> steps = {0};
  if (answer.table.steps.size() > 1) steps.push_back(answer.table.steps.size() - 1);
  for (const std::size_t step : steps) {
    report::Plot plot;
    plot.title = fmt::format("Sizes of sites at step {}", answer.table.steps[step]);
    plot.x.label = answer.table.axis;
    plot.x.unit = "pure number";
    plot.x.scale = plot.y.scale = report::AxisScale::logarithmic;
    plot.x.ticks = answer.table.sizes;
    plot.y.label = answer.table.quantity;
    plot.y.unit = "pure number";
    int look = 0;
    for (const MeasuredSite& site : answer.table.sites) {
      report::Series series{site.path, report::Origin::measured, {}, look++, true};
      for (std::size_t i = 0; i < answer.table.sizes.size(); ++i)
        series.points.push_back({answer.table.sizes[i], site.values[step][i], 0});
      plot.series.push_back(std::move(series));
    }
    figure.panels.push_back(std::move(plot));
  }
  return figure;
}

}  // namespace scalecalc::cli
