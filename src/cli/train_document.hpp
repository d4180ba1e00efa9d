#pragma once

#include <string>
#include <vector>

#include "scalecalc/report.hpp"
#include "scalecalc/train.hpp"

namespace scalecalc::cli {

/// What `scalecalc train` was asked for and what came of it.
struct TrainAnswer {
  std::string profile;
  std::string model;  ///< empty: the profile's
  Corpus corpus;
  TrainOptions options;
  std::vector<GroupDifference> differences;
  std::vector<TrainRun> runs;
};
report::Document train_document(const TrainAnswer& answer);

}  // namespace scalecalc::cli
