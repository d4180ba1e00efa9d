#include "cli/train/forecast.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace scalecalc::cli {

std::string ForecastShare::share() const {
  return fmt::format("{}/{}", agree, runs);
}

ForecastShare forecast_share(const TrainCell& cell, const std::vector<TrainRun>& runs,
                             std::int64_t vocab) {
  ForecastShare result;
  for (const TrainRun& run : runs) {
    if (run.group != cell.group || run.layers != cell.layers) continue;
    result.trains = forecast(run.prediction, vocab).trains;
    ++result.runs;
    if (result.trains == (run.verdict == TrainVerdict::converged)) ++result.agree;
  }
  return result;
}

report::Table forecast_table(const std::vector<TrainRun>& runs, std::int64_t vocab) {
  report::Table table{{"placement", "layers", "forecast", "since"}, {}};
  std::set<std::pair<std::string, std::int64_t>> shown;
  for (const TrainRun& run : runs) {
    if (!shown.emplace(run.group, run.layers).second) continue;
    const TrainForecast expected = forecast(run.prediction, vocab);
    table.rows.push_back(
        {run.group, run.layers, expected.trains ? "trains" : "fails", expected.rule});
  }
  return table;
}

}  // namespace scalecalc::cli
