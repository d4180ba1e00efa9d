#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scalecalc/train.hpp"
#include "train/files.hpp"
#include "train/records.hpp"

namespace scalecalc::train_room {

/// Batches of a corpus for a model's shape. The same seed and step give the same batch to every
/// group and depth.
class Batches {
 public:
  /// Throws Error(input) for a corpus shorter than one sequence.
  Batches(const Corpus& corpus, std::int64_t batch, std::int64_t sequence);
  /// Sequences from random places of the training text, each target the token that follows.
  TokenBatch train(std::uint64_t seed, std::int64_t step) const;
  /// The validation text from its start, in order.
  TokenBatch validation(std::int64_t index) const;

 private:
  void add(const std::vector<std::int32_t>& text, std::int64_t offset, TokenBatch& to) const;

  const Corpus& corpus_;
  std::int64_t batch_, sequence_;
};

/// By the moment rules: of the model at its first step, and with its branches open (a ramp at its
/// end).
TrainPrediction predict(const ModelSpec& model, const ModelSpec& open,
                        const OptimizerOptions& optimizer, std::int64_t steps,
                        const Corpus& corpus);
/// Sums squares of `norms`, one a parameter, by the layers that the parameters are in.
LayerNorms by_layer(const std::vector<ParameterInfo>& parameters, const std::vector<double>& norms);

/// What one run trains.
struct RunPlan {
  std::string group;
  std::int64_t layers = 0;
  std::uint64_t seed = 0;
  ModelSpec spec;
  OptimizerOptions optimizer;
  /// Of the spec at a step; empty: build_network().
  std::function<Network(const ModelSpec&)> network = {};
  GridPlace place = {};
  bool is_predicted = true;  ///< its gradients, before the first step
  Json tuning = {};          ///< of a grid, all that its runs have in common beside their options
  const PretrainedRun* from = nullptr;  ///< whose weights it begins with; null: they are drawn

  Network build(const ModelSpec& at_step) const {
    return network ? network(at_step) : build_network(at_step);
  }
};
Json optimizer_json(const OptimizerOptions& options);
/// The first line of its log.
Json configuration_of(const Corpus& corpus, const TrainOptions& options, const RunPlan& plan);

/// Throws Error(input) for options out of their ranges, and for so many runs.
void check_experiment(const TrainOptions& options, std::int64_t runs);
/// A placement at each depth and seed.
std::vector<RunPlan> placement_plans(const Corpus& corpus, const TrainOptions& options);

/// Trains what is not finished, in that order. Throws as train() does, but for what
/// check_experiment() finds.
std::vector<TrainRun> train_plans(const Corpus& corpus, const TrainOptions& options,
                                  const std::vector<RunPlan>& plans);

/// One model under training, and its files.
class Run {
 public:
  /// Reads what the folder has of it. Throws Error(input) where that is damaged or of another
  /// configuration.
  Run(const Corpus& corpus, const TrainOptions& options, const RunPlan& plan);

  bool finished() const { return finished_; }
  const TrainRun& result() const { return result_; }
  std::string name() const;
  /// Steps that need not be made again: that the log has seen, unless for the weights.
  std::int64_t logged() const { return again_ ? 0 : result_.steps; }
  /// Of the passes of the steps that are left.
  PassWork work_left() const;
  /// Trains to the end. `go_on` is asked after each step; when it says no, what was reached is kept
  /// and Error(fault) thrown.
  void train(int threads, const std::function<bool(std::int64_t step)>& go_on);

 private:
  Json configuration() const { return configuration_of(corpus_, options_, plan_); }
  void read_log();
  void read_line(std::size_t at);
  void write(const std::string& line);
  ModelSpec model_at(std::int64_t step) const;
  void judge_run();

  const Corpus& corpus_;
  const TrainOptions& options_;
  const RunPlan& plan_;
  const ModelSpec& spec_;
  Batches batches_;
  std::int64_t steps_, ramp_steps_;  ///< the latter 0 without a ramp, and where it has ended
  TrainRun result_;
  std::unique_ptr<Log> log_;
  std::size_t written_ = 0;  ///< lines that this training has come to, in the log or not
  bool finished_ = false;
  bool again_ = false;  ///< it had ended, without the weights that are to be kept
  std::uint64_t id_ = 0;
  std::string checkpoint_, weights_;

  class Training;
};

}  // namespace scalecalc::train_room
