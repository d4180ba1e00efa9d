#include "cli/train/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "cli/figures.hpp"

namespace scalecalc::cli {
namespace {

using report::Table;
using report::Value;

Value bin_value(const ReliabilityBin& bin) {
  Value entry = Value::object();
  entry["from"] = bin.from;
  entry["to"] = bin.to;
  entry["runs"] = bin.runs;
  entry["probability"] = bin.runs > 0 ? Value(bin.probability) : Value();
  entry["trained"] = bin.runs > 0 ? Value(bin.trained) : Value();
  return entry;
}

Table score_table(const ForecastScore& found) {
  Table table{{"forecast", "runs", "mean probability", "trained"}, {}};
  for (const ReliabilityBin& bin : found.bins)
    if (bin.runs > 0)
      table.rows.push_back({fmt::format("{:.1f} to {:.1f}", bin.from, bin.to),
                            static_cast<std::int64_t>(bin.runs), bin.probability, bin.trained});
  return table;
}

Value score_value(const ForecastScore& found) {
  Value value = Value::object();
  value["runs"] = found.runs;
  value["trained"] = found.trained;
  value["brier"] = found.brier;
  value["base_brier"] = found.base_brier;
  value["reliability"] = Value::array();
  for (const ReliabilityBin& bin : found.bins) value["reliability"].push_back(bin_value(bin));
  return value;
}

report::Paragraph score_text(const ForecastScore& found) {
  return {
      fmt::format("Of {} runs {} trained. The Brier score of the forecasts, the mean of "
                  "(probability - trained)^2, is {:.3f}; their share alone has {:.3f}.",
                  found.runs, found.trained, found.brier, found.base_brier)};
}

report::Plot reliability_plot(const ForecastScore& found) {
  report::Plot plot;
  plot.title = "Forecasts, and the share that trained";
  plot.x.label = "probability of the forecast";
  plot.y.label = "share that trained";
  plot.x.unit = plot.y.unit = "pure number";
  report::Series measured{"runs", report::Origin::measured, {}, 0, true};
  report::Series exact{"as they should", report::Origin::exact, {{0, 0}, {1, 1}}, 1, true};
  for (const ReliabilityBin& bin : found.bins)
    if (bin.runs > 0) measured.points.push_back({bin.probability, bin.trained, bin.error});
  plot.series = {measured, exact};
  plot.note = "Bars: the standard error of a share at that probability.";
  return plot;
}

/// The part that decides, or why there is none.
std::string least_of(const Forecast& forecast) {
  if (forecast.parts.empty()) return forecast.reason();
  return std::ranges::min_element(forecast.parts, {}, &ForecastPart::probability)->name;
}

}  // namespace

Value ForecastShare::value() const {
  return runs > 0 ? Value(probability) : Value();
}

Value ForecastShare::word() const {
  return runs > 0 ? Value(probability >= 0.5 ? "trains" : "fails") : Value();
}

Value ForecastShare::share() const {
  return runs > 0 ? Value(fmt::format("{}/{}", agree, runs)) : Value();
}

ForecastShare forecast_share(const TrainCell& cell, const std::vector<TrainRun>& runs) {
  ForecastShare result;
  for (const TrainRun& run : runs) {
    if (run.group != cell.group || run.layers != cell.layers) continue;
    const std::optional<Forecast> expected = forecast(run.prediction);
    if (!expected) continue;
    result.probability += expected->probability;
    ++result.runs;
    if (expected->trains() == (run.verdict == TrainVerdict::converged)) ++result.agree;
  }
  result.probability /= result.runs;
  return result;
}

Table forecast_table(const std::vector<TrainRun>& runs) {
  Table table{{"placement", "layers", "probability", "signal", "steps", "step size", "least"}, {}};
  std::set<std::pair<std::string, std::int64_t>> shown;
  for (const TrainRun& run : runs) {
    const std::optional<Forecast> expected = forecast(run.prediction);
    if (!expected || !shown.emplace(run.group, run.layers).second) continue;
    std::vector<Value> row = {run.group, run.layers, expected->probability};
    for (const ForecastPart& part : expected->parts) row.emplace_back(part.probability);
    row.resize(table.columns.size() - 1);
    row.emplace_back(least_of(*expected));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Shape score_shape() {
  using namespace shapes;
  const Shape some = number().or_null();
  const Shape bin = object({{"from", number(), "probability"},
                            {"to", number(), "probability"},
                            {"runs", count(), "forecast so"},
                            {"probability", some, "mean of theirs; null of no run"},
                            {"trained", some, "share of them that converged; null of no run"}});
  return object({{"runs", count(), "that have ended and have a forecast"},
                 {"trained", count(), "of them"},
                 {"brier", number(), "mean of (probability - trained)^2"},
                 {"base_brier", number(), "that of their share alone"},
                 {"reliability", list(bin), "by probability"}})
      .or_null();
}

void add_scores(const std::vector<TrainRun>& runs, report::Document& document) {
  const ForecastScore found = score(forecast_outcomes(runs));
  document.results["forecasts"] = found.runs > 0 ? score_value(found) : Value();
  if (found.runs == 0) return;
  document.sections.push_back({"How good the forecasts were", score_table(found)});
  document.sections.push_back({"", score_text(found)});
}

void add_scores(const std::vector<TrainRun>& runs, report::Page& page) {
  const ForecastScore found = score(forecast_outcomes(runs));
  if (found.runs == 0) return;
  page.parts.emplace_back(report::Section{"How good the forecasts were", score_table(found)});
  page.parts.emplace_back(report::Section{"", score_text(found)});
  page.parts.emplace_back(reliability_plot(found));
}

}  // namespace scalecalc::cli
