#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scalecalc/train.hpp"

/// Weights that train() has kept (TrainOptions::keep_weights), for other runs to begin with.
namespace scalecalc {

/// One run of such a folder.
struct PretrainedRun {
  std::string group;
  std::int64_t layers = 0;
  std::uint64_t seed = 0;
  bool finished = false;
  std::int64_t steps = 0;
  double final_loss = 0;  ///< of validation, nats a token
  std::uint64_t id = 0;   ///< of its configuration
  std::string model;      ///< a model file, a ramp as it ended
  std::string weights;    ///< the path of the file with them
  bool has_weights = false;
};

struct Pretrained {
  std::string folder;
  /// Its name, task, level and words. Of its text there is as much of validation as the runs were
  /// validated on, twice: what was for training is gone.
  Corpus corpus;
  std::int64_t validation_sequences = 0;  ///< that a validation loss was the mean of
  std::vector<PretrainedRun> runs;        ///< in the order of read_train()
};
/// Reads logs and vocabulary, no weights. Throws Error(input) for what is no folder of train(), for
/// one of a grid, for a damaged file and where no weights were kept.
Pretrained read_pretrained(const std::string& folder);
/// The model that the groups share, as TrainOptions::model has it.
ModelSpec shared_model(const Pretrained& pretrained);
/// Throws Error(input) where there is no such run, where it has not ended, where it ended in no
/// number, and where its weights were not kept.
const PretrainedRun& pretrained_run(const Pretrained& pretrained, const std::string& group,
                                    std::int64_t layers, std::uint64_t seed);
/// The model of such a run with the batch and the rates of dropout of train_model(). Throws as that
/// does, and Error(input) for any other key in which both differ, with both values.
ModelSpec finetuned_model(const TrainOptions& options, const TrainGroup& group,
                          const PretrainedRun& run, const Corpus& corpus);

}  // namespace scalecalc
