#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scalecalc/report.hpp"
#include "scalecalc/train.hpp"

/// What was to be expected of trainings, beside what came of them; as `train` and `report` show it.
namespace scalecalc::cli {

/// Of the runs of one group at one depth.
struct ForecastShare {
  bool trains = true;
  int runs = 0, agree = 0;  ///< agree: converged as forecast, or not
  std::string word() const { return trains ? "trains" : "fails"; }
  std::string share() const;  ///< "2/3"
};
/// `runs`: those that have ended, of any cell.
ForecastShare forecast_share(const TrainCell& cell, const std::vector<TrainRun>& runs,
                             std::int64_t vocab);

/// What decided, for the first run of each group at each depth.
report::Table forecast_table(const std::vector<TrainRun>& runs, std::int64_t vocab);

}  // namespace scalecalc::cli
