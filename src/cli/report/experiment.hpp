#pragma once

#include <optional>
#include <string>

#include "cli/train/best.hpp"
#include "cli/train/tuning.hpp"
#include "scalecalc/plot.hpp"
#include "scalecalc/train.hpp"

/// What `report` makes of a folder of `train`.
namespace scalecalc::cli {

struct ReportAnswer {
  std::string folder;
  double target_loss = 0;  ///< NaN where nothing says it
  TrainFolder trained;
  std::optional<TuningAnswer> tuned = {};  ///< of a folder of train --grid at several sizes
  std::optional<BestAnswer> best = {};     ///< of one with several placements
};

/// Of what has been read.
BestAnswer best_answer(const TrainFolder& folder);

report::Document report_document(const ReportAnswer& answer);
report::Page report_page(const ReportAnswer& answer);
report::Figure report_figure(const ReportAnswer& answer);

}  // namespace scalecalc::cli
