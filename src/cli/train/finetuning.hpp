#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/json_form.hpp"
#include "cli/options.hpp"
#include "cli/train/figures.hpp"
#include "cli/train/tuning.hpp"
#include "scalecalc/pretrained.hpp"

/// `train --finetune-from`: runs that begin with the weights of earlier ones, and what they forget.
namespace scalecalc::cli {

struct FinetuneFlags {
  std::string from;
  bool keep = false;

  void add_to(CLI::App* app);
  /// The folder, and what its runs set where no option does: placements, depths, seeds, the model.
  void apply_to(TrainOptions& options) const;
  /// Throws Error(usage) for options that trained weights leave nothing to say.
  void refuse_contradictions(const TuningFlags& tuning, const std::string& model,
                             const std::string& vocab, const std::string& ramp) const;
};

/// Of the runs of one group at one depth: losses of validation, nats a token, means over the seeds
/// that have ended in a number.
struct FinetunedCell {
  std::string group;
  std::int64_t layers = 0;
  int runs = 0;
  MeanOf before, after, forgotten;          ///< on the text of pre-training; the difference
  MeanOf text_before, text_after, learned;  ///< on the new one
};
/// Nothing of runs that began with drawn weights.
std::vector<FinetunedCell> finetuned_cells(const std::vector<TrainRun>& runs,
                                           const std::vector<TrainCell>& cells);
/// Whether they began with trained weights.
bool are_finetuned(const std::vector<TrainRun>& runs);
/// "the weights of 200 steps on a.txt".
std::string start_text(const std::vector<TrainRun>& runs);

/// Their table, under what the runs began with; and what its columns are.
report::Section finetuned_section(const std::vector<TrainRun>& runs,
                                  const std::vector<FinetunedCell>& cells);
constexpr char kForgotten[] =
    "Validation losses in nats a token before the first step and at the end, means over the seeds "
    "that ended in a number. Forgotten: how much the loss on the text of pre-training rose, on "
    "the batches that it was validated on; learned: how much that on this text fell.";
report::Value finetuned_value(const std::vector<FinetunedCell>& cells);
Shape finetuned_shape();
/// Of one run.
report::Value start_value(const TrainStart& start);
Shape start_shape();

/// Validation loss on the text of pre-training by step, a panel a depth, a line a seed.
std::vector<report::Plot> pretraining_plots(const TrainedRuns& trained);

}  // namespace scalecalc::cli
