#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/forecast.hpp"
#include "scalecalc/plot.hpp"
#include "scalecalc/report.hpp"
#include "scalecalc/train.hpp"

/// What was to be expected of trainings, beside what came of them; as `train` and `report` show it.
namespace scalecalc::cli {

/// Of the runs of one group at one depth.
struct ForecastShare {
  double probability = 0;       ///< mean over the runs
  int runs = 0, agree = 0;      ///< agree: converged as forecast, or not
  report::Value value() const;  ///< the probability; nothing of no run
  report::Value word() const;   ///< "trains" from a half on, "fails" below
  report::Value share() const;  ///< "2/3"
};
/// `runs`: those that have ended, of any cell.
ForecastShare forecast_share(const TrainCell& cell, const std::vector<TrainRun>& runs);

/// What decided, for the first run of each group at each depth.
report::Table forecast_table(const std::vector<TrainRun>& runs);

/// How good the forecasts of all that have ended were, as a score and by their probability: as
/// results.forecasts, and as sections or with a plot. Nothing, and null, where none has a forecast.
void add_scores(const std::vector<TrainRun>& runs, report::Document& document);
void add_scores(const std::vector<TrainRun>& runs, report::Page& page);
Shape score_shape();

}  // namespace scalecalc::cli
