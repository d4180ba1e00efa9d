#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/train/tuning.hpp"
#include "scalecalc/plot.hpp"
#include "scalecalc/train.hpp"

namespace scalecalc::cli {

/// What `scalecalc train` was asked for and what came of it.
struct TrainAnswer {
  std::string profile;
  std::string model;          ///< empty: the profile's
  std::string finetune_from;  ///< empty: the weights are drawn
  Corpus corpus;
  TrainOptions options;
  std::vector<GroupDifference> differences;
  std::vector<TrainRun> runs;
  std::optional<TuningOptions> grid = {};  ///< of --grid, which has the sizes
  std::optional<TuningAnswer> tuned = {};
  std::vector<GridAxis> axes = {};  ///< of --grid with several placements
};
report::Document train_document(const TrainAnswer& answer);
/// What --plot draws.
report::Figure train_figure(const TrainAnswer& answer);

/// Of Schedule::Kind, in its order.
const std::vector<std::string>& schedule_names();

/// Those that runs have, each once.
std::set<std::string> remarks_of(const std::vector<TrainRun>& runs);

/// What `report` shows of a folder in the same way.
report::Value cell_value(const TrainCell& cell);
/// The perplexity per byte at that loss, and a column of them beside the cells' rows; nothing where
/// a token is no number of bytes.
void add_per_byte(double bytes_per_token, double loss, report::Value& entry);
void add_per_byte(double bytes_per_token, const std::vector<TrainCell>& cells,
                  report::Table& table);
/// The one that is called so, and its like.
void leave_out(const std::vector<std::string>& columns, report::Table& table);
report::Value differences_value(const std::vector<GroupDifference>& differences);
report::Table difference_table(const std::vector<GroupDifference>& differences);

}  // namespace scalecalc::cli
