#include "scalecalc/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <new>

#include "base/workers.hpp"
#include "cluster/bytes.hpp"
#include "scalecalc/error.hpp"
#include "train/corpus_file.hpp"
#include "train/records.hpp"
#include "train/run.hpp"
#include "train/vocabulary_file.hpp"

namespace scalecalc {
namespace {

using train_room::Run, train_room::RunPlan;

constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr std::int64_t kMostRuns = 500;
/// Runs of models up to this size go side by side.
constexpr std::int64_t kSmallModel = 5'000'000;

void check_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw Error(ErrorKind::input, fmt::format("{} is {}", name, value), "train",
              fmt::format("use {} to {}", least, most));
}

/// Throws where two groups name one model.
void check_groups(const TrainOptions& options) {
  const DropoutPlaces own = options.model.dropout_place;
  std::vector<TrainGroup> groups;
  for (const std::string& name : options.groups) {
    TrainGroup group = train_group(name);
    for (const TrainGroup& earlier : groups) {
      if (train_room::placement_of(group.name) != train_room::placement_of(earlier.name)) continue;
      if (group.dropout_place.value_or(own) != earlier.dropout_place.value_or(own)) continue;
      throw Error(ErrorKind::input,
                  group.name == earlier.name
                      ? fmt::format("'{}' is given twice", group.name)
                      : fmt::format("'{}' and '{}' are one model", earlier.name, group.name),
                  "placements", "name each model once");
    }
    groups.push_back(std::move(group));
  }
}

/// What is left of a run, in steps of one layer; less than nothing of a finished one.
double work_left(const Run& run, std::int64_t steps) {
  if (run.finished()) return -1.0;
  return static_cast<double>(run.result().layers) * static_cast<double>(steps - run.logged());
}

/// Of one group and depth, each seed from the weights of the same.
void add_finetunings(const Corpus& corpus, const TrainOptions& options, const TrainGroup& group,
                     std::int64_t layers, std::vector<RunPlan>& plans) {
  for (int i = 0; i < options.seeds; ++i) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
    const PretrainedRun& from = pretrained_run(*options.pretrained, group.name, layers, seed);
    plans.push_back({group.name, layers, seed, finetuned_model(options, group, from, corpus),
                     options.optimizer});
    plans.back().from = &from;
  }
}

class Experiment {
 public:
  Experiment(const Corpus& corpus, const TrainOptions& options, const std::vector<RunPlan>& plans)
      : corpus_(corpus),
        options_(options),
        ranks_(options.ranks != nullptr ? *options.ranks : one_),
        steps_(train_steps(options, corpus)),
        plans_(plans) {
    options_.device = device_here(options.device, options.ranks);
    train_room::make_folder(options.folder);
    train_room::check_others(options.folder,
                             train_room::configuration_of(corpus, options, plans.front()));
    for (const RunPlan& plan : plans)
      small_ = small_ && parameter_count(build_network(plan.spec)) <= kSmallModel;
    runs_.resize(plans.size());
  }

  std::vector<TrainRun> run() {
    const std::vector<double> left = look();
    if (ranks_.rank() == 0) describe_text();
    std::vector<double> costs = left;
    for (double& cost : costs) cost = std::max(cost, 0.0);
    const std::vector<int> owners = deal(costs, ranks_.size());
    const auto is_own = [&](std::size_t i) { return left[i] >= 0 && owners[i] == ranks_.rank(); };
    // What one rank has open, no other can open.
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (ranks_.size() > 1 && !is_own(i)) runs_[i].reset();
    }
    ranks_.wait();
    ranks_.gather([&] {
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        if (!is_own(i)) continue;
        open(i);
        pending_.push_back(runs_[i].get());
        work_ += left[i];
      }
      announce();
      train_pending();
      if (ranks_.rank() > 0) runs_.clear();
      return std::string();
    });
    std::vector<TrainRun> results;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      open(i);
      results.push_back(runs_[i]->result());
    }
    return results;
  }

 private:
  /// Once the runs of the folder are known to be of this text.
  void describe_text() const {
    train_room::save_corpus(options_.folder, corpus_);
    if (!options_.keep_weights) return;
    const ModelSpec& spec = plans_.front().spec;
    train_room::save_vocabulary(options_.folder, corpus_, options_.validation_batches * spec.batch,
                                spec.sequence);
  }

  void open(std::size_t i) {
    if (!runs_[i]) runs_[i] = std::make_unique<Run>(corpus_, options_, plans_[i]);
  }

  /// What is left of each run. The ranks share the looking: all files are known to be sound before
  /// the first step.
  std::vector<double> look() {
    const auto rank = static_cast<std::size_t>(ranks_.rank());
    const auto size = static_cast<std::size_t>(ranks_.size());
    const std::vector<std::string> all = ranks_.gather([&] {
      cluster::Writer own;
      for (std::size_t i = rank; i < runs_.size(); i += size) {
        open(i);
        own.put(work_left(*runs_[i], steps_));
      }
      return own.take();
    });
    std::vector<double> left(runs_.size());
    for (std::size_t from = 0; from < size; ++from) {
      cluster::Reader reader(all[from]);
      for (std::size_t i = from; i < runs_.size(); i += size) left[i] = reader.get<double>();
    }
    return left;
  }

  void announce() const {
    if (!options_.expect) return;
    PassWork all{.single_precision = true};
    for (const Run* run : pending_) {
      const PassWork one = run->work_left();
      all.operations += one.operations;
      all.bytes = std::max(all.bytes, one.bytes);
    }
    options_.expect(all);
  }

  void train_pending() {
    const auto most = static_cast<int>(pending_.size());
    threads_ = small_ && runs_on_cpu(options_.device) ? std::min(options_.threads, most) : 1;
    workers_.run(threads_, [this] { work(); });
  }

  void work() {
    try {
      for (std::size_t i = next_++; i < pending_.size() && !workers_.stopped(); i = next_++) {
        Run& run = *pending_[i];
        const std::int64_t from = run.logged();
        const auto layers = static_cast<double>(run.result().layers);
        run.train(std::max(1, options_.threads / std::max(threads_, 1)),
                  [&](std::int64_t step) { return report(run, step > from ? layers : 0.0); });
      }
    } catch (const std::bad_alloc&) {
      throw Error(ErrorKind::fault, "out of memory during training", "train",
                  "use fewer layers, a smaller width or --recompute");
    }
  }

  bool report(const Run& run, double cost) {
    const std::lock_guard lock(mutex_);
    done_ += cost;
    if (options_.progress && !workers_.stopped() &&
        !options_.progress(std::min(1.0, done_ / work_), run.name())) {
      workers_.stop();
    }
    return !workers_.stopped();
  }

  const Corpus& corpus_;
  TrainOptions options_;
  OneRank one_;
  Ranks& ranks_;
  std::int64_t steps_;
  bool small_ = true;
  const std::vector<RunPlan>& plans_;
  std::vector<std::unique_ptr<Run>> runs_;  ///< of the plans; those that this rank has open
  std::vector<Run*> pending_;
  int threads_ = 1;  ///< that runs are trained on at a time
  base::Workers workers_;
  double work_ = 0, done_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
};

}  // namespace

std::int64_t train_steps(const TrainOptions& options, const Corpus& corpus) {
  if (options.steps > 0) return options.steps;
  const std::int64_t tokens = options.model.batch * options.model.sequence;
  const auto text = static_cast<std::int64_t>(corpus.train.size());
  return std::clamp<std::int64_t>(options.epochs * text / tokens, 1, kMostSteps);
}

std::int64_t ramp_steps(const TrainOptions& options, const Corpus& corpus) {
  return options.ramp_steps > 0 ? options.ramp_steps
                                : std::max<std::int64_t>(train_steps(options, corpus) / 10, 1);
}

void train_room::check_experiment(const TrainOptions& options, std::int64_t runs) {
  validate(options.optimizer);
  check_range("seeds", options.seeds, 1, 1000);
  check_range("steps", options.steps, 0, kMostSteps);
  check_range("epochs", options.epochs, options.steps > 0 ? 0 : 1, 1'000'000);
  check_range("record_every", options.record_every, 1, kMostSteps);
  check_range("validation_batches", options.validation_batches, 1, 1'000'000);
  check_range("ramp_steps", options.ramp_steps, 0, kMostSteps);
  if (!(options.target_loss >= 0) || !std::isfinite(options.target_loss)) {
    throw Error(ErrorKind::input, fmt::format("target_loss is {}", options.target_loss), "train",
                "use nats a token, or 0 to have it chosen");
  }
  check_range("threads", options.threads, 1, 1024);
  check_device_name(options.device);
  check_range("the number of runs", runs, 1, kMostRuns);
}

std::vector<RunPlan> train_room::placement_plans(const Corpus& corpus,
                                                 const TrainOptions& options) {
  check_experiment(
      options,
      static_cast<std::int64_t>(options.groups.size() * options.depths.size()) * options.seeds);
  check_groups(options);
  std::vector<RunPlan> plans;
  for (const std::string& name : options.groups) {
    const TrainGroup group = train_group(name);
    for (const std::int64_t layers : options.depths) {
      if (options.pretrained) {
        add_finetunings(corpus, options, group, layers, plans);
        continue;
      }
      const ModelSpec spec = train_model(options, group, layers, corpus);
      for (int i = 0; i < options.seeds; ++i)
        plans.push_back({group.name, layers, options.seed + static_cast<std::uint64_t>(i), spec,
                         options.optimizer});
    }
  }
  return plans;
}

std::vector<TrainRun> train_room::train_plans(const Corpus& corpus, const TrainOptions& options,
                                              const std::vector<RunPlan>& plans) {
  return Experiment(corpus, options, plans).run();
}

std::vector<TrainRun> train(const Corpus& corpus, const TrainOptions& options) {
  return train_room::train_plans(corpus, options, train_room::placement_plans(corpus, options));
}

}  // namespace scalecalc
