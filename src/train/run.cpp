#include "train/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::train_room {

Json optimizer_json(const OptimizerOptions& options) {
  const Schedule& schedule = options.schedule;
  Json json = {{"name", options.name},
               {"learning_rate", options.learning_rate},
               {"schedule",
                {static_cast<int>(schedule.kind), schedule.warmup, schedule.steps, schedule.final}},
               {"momentum", options.momentum},
               {"beta1", options.beta1},
               {"beta2", options.beta2},
               {"eps", options.eps},
               {"weight_decay", options.weight_decay},
               {"clip_norm", options.clip_norm},
               {"clip_value", options.clip_value}};
  if (!options.rest.empty()) json["rest"] = optimizer_json(options.rest.front());
  if (!options.first_roles.empty()) json["first_roles"] = options.first_roles;
  return json;
}

/// That of the weights that a run begins with has ended.
static bool has_ramp(const RunPlan& plan) {
  return plan.from == nullptr && train_group(plan.group).ramp;
}

Json configuration_of(const Corpus& corpus, const TrainOptions& options, const RunPlan& plan) {
  Json config;
  config["format"] = 1;
  config["group"] = plan.group;
  config["layers"] = plan.layers;
  config["seed"] = plan.seed;
  config["steps"] = train_steps(options, corpus);
  config["record_every"] = options.record_every;
  config["validation_batches"] = options.validation_batches;
  if (has_ramp(plan)) config["ramp_steps"] = ramp_steps(options, corpus);
  config["corpus"] = {{"name", corpus.name},
                      {"tokens", corpus.train.size() + corpus.validation.size()},
                      {"vocab", corpus.vocab()},
                      {"fingerprint", corpus.fingerprint}};
  if (corpus.tokenizer != 0) config["corpus"]["tokenizer"] = corpus.tokenizer;
  if (corpus.task != TrainTask::next)
    config["task"] = train_task_names().at(static_cast<std::size_t>(corpus.task));
  config["optimizer"] = optimizer_json(plan.optimizer);
  config["model"] = model_text(plan.spec);
  if (plan.from != nullptr)
    config["pretrained"] = to_json(*plan.from, options.pretrained->corpus.name);
  if (plan.place.width > 0) {
    config["grid"] = to_json(plan.place);
    config["tuning"] = plan.tuning;
  }
  return {{"configuration", config}};
}

Run::Run(const Corpus& corpus, const TrainOptions& options, const RunPlan& plan)
    : corpus_(corpus),
      options_(options),
      plan_(plan),
      spec_(plan.spec),
      batches_(corpus, spec_.batch, spec_.sequence),
      steps_(train_steps(options, corpus)),
      ramp_steps_(has_ramp(plan) ? ramp_steps(options, corpus) : 0) {
  result_.group = plan.group;
  result_.layers = plan.layers;
  result_.seed = plan.seed;
  result_.place = plan.place;
  const std::filesystem::path stem = std::filesystem::path(options.folder) / name();
  checkpoint_ = stem.string() + ".checkpoint";
  weights_ = stem.string() + kWeightsEnding;
  const Json config = configuration();
  id_ = run_id(config);
  if (plan.from != nullptr) result_.start = start_from(config.at("configuration").at("pretrained"));
  log_ = std::make_unique<Log>(stem.string() + ".jsonl");
  if (log_->is_without_sums()) result_.remark = kNoSums;
  read_log();
  std::error_code none;
  again_ = finished_ && options.keep_weights && result_.verdict != TrainVerdict::nan &&
           !std::filesystem::exists(weights_, none);
  if (again_) finished_ = false;
  if (finished_) remove_checkpoint(checkpoint_);
}

std::string Run::name() const {
  return run_name(result_);
}

void Run::read_log() {
  for (std::size_t at = 0; at < log_->lines().size(); ++at) read_line(at);
}

void Run::read_line(std::size_t at) {
  const Json json = read_json(log_->lines()[at]);
  if (!json.is_object() || finished_) log_->damaged(at, kDamaged);
  try {
    if (at == 0) {
      const Json own = configuration();
      if (json == own) return;
      if (!json.contains("configuration")) log_->damaged(at, kDamaged);
      throw Error(ErrorKind::input, "the folder has a run of another configuration",
                  base::shortened(log_->path()) + ": " +
                      first_difference(own.at("configuration"), json.at("configuration")),
                  "give the same options, or -o another folder");
    }
    if (at == 1) {
      result_.prediction = prediction_from(json.at("prediction"));
      if (result_.start) take_losses(json.at("start"), *result_.start);
    } else if (json.contains("verdict")) {
      judge_run();
      if (json.at("verdict") != to_string(result_.verdict)) {
        log_->damaged(at, "the verdict is not that of the records");
      }
      finished_ = true;
    } else {
      result_.records.push_back(record_from(json));
      const std::int64_t before = result_.steps;
      result_.steps = result_.records.back().step;
      if (result_.steps <= before || result_.steps > steps_) {
        log_->damaged(at, "a record is out of order");
      }
    }
  } catch (const Json::exception&) {
    log_->damaged(at, kDamaged);
  }
}

/// Appends the line, or finds it where an earlier training has left it.
void Run::write(const std::string& line) {
  const std::size_t at = written_++;
  if (at >= log_->lines().size()) return log_->append(line);
  if (log_->lines()[at] == line) return;
  log_->damaged(at, "this machine computes other numbers than the log has");
}

ModelSpec Run::model_at(std::int64_t step) const {
  ModelSpec spec = spec_;
  if (ramp_steps_ > 0) {
    spec.ramp = std::min(1.0, static_cast<double>(step) / static_cast<double>(ramp_steps_));
  }
  return spec;
}

PassWork Run::work_left() const {
  return pass_work(plan_.build(spec_), static_cast<double>(steps_ - logged()), true,
                   options_.recompute);
}

void Run::judge_run() {
  result_.verdict = judge(result_.records, corpus_.vocab(), corpus_.unigram_entropy);
  result_.steps_to_target = steps_to_loss(result_, train_target(options_, corpus_));
  if (result_.records.empty()) return;
  result_.final_loss = result_.records.back().validation_loss;
  result_.perplexity = std::exp(result_.final_loss);
}

/// The passes and the trainer, while there are any.
class Run::Training {
 public:
  Training(Run& run, int threads)
      : run_(run),
        passes_(run.plan_.build(run.model_at(1)), pass_options(run, threads)),
        trainer_(passes_, run.plan_.optimizer) {
    if (run.plan_.from == nullptr) return;
    const ModelSpec& spec = run.spec_;
    earlier_.emplace(run.options_.pretrained->corpus, spec.batch, spec.sequence);
  }

  void go(const std::function<bool(std::int64_t)>& go_on) {
    begin();
    while (at_.step < run_.steps_ && !broken_) {
      step();
      const bool goes_on = go_on(at_.step);
      const bool done = at_.step == run_.steps_ || broken_;
      if (!done && (at_.loss_count == 0 || !goes_on)) {
        save_checkpoint(run_.checkpoint_, run_.id_, at_, trainer_);
      }
      if (!goes_on)
        throw Error(ErrorKind::fault, "interrupted", run_.name(),
                    "the same call goes on from here");
    }
    if (run_.options_.keep_weights && !broken_) save_weights(run_.weights_, run_.id_, passes_);
    if (!passes_.remark().empty()) run_.result_.remark = passes_.remark();
  }

 private:
  static PassOptions pass_options(const Run& run, int threads) {
    return {run.result_.seed, threads, run.options_.device, run.options_.recompute};
  }

  /// From the checkpoint, if there is one; the records up to it are in the log.
  void begin() {
    std::vector<TrainRecord>& records = run_.result_.records;
    if (!load_checkpoint(run_.checkpoint_, run_.id_, at_, trainer_)) {
      run_.written_ = 0;
      records.clear();
      run_.write(run_.configuration().dump());
      run_.result_.prediction = prediction();
      Json line = {{"prediction", to_json(run_.result_.prediction)}};
      if (run_.plan_.from != nullptr) line["start"] = losses_json(start());
      run_.write(line.dump());
      const Json read = Json::parse(line.dump());
      run_.result_.prediction = prediction_from(read.at("prediction"));
      if (run_.result_.start) take_losses(read.at("start"), *run_.result_.start);
      return;
    }
    const auto after = [this](const TrainRecord& record) { return record.step > at_.step; };
    records.erase(std::ranges::find_if(records, after), records.end());
    constexpr std::size_t kBeforeRecords = 2;
    run_.written_ = kBeforeRecords + records.size();
    const std::int64_t recorded = records.empty() ? 0 : records.back().step;
    if (run_.log_->lines().size() < kBeforeRecords || recorded + at_.loss_count != at_.step) {
      run_.log_->damaged(run_.log_->lines().size(), "the log is shorter than its checkpoint");
    }
  }

  TrainPrediction prediction() const {
    const bool is_drawn = run_.plan_.from == nullptr;
    if (run_.plan_.is_predicted && is_drawn)
      return predict(run_.model_at(1), run_.model_at(std::max<std::int64_t>(1, run_.ramp_steps_)),
                     run_.plan_.optimizer, run_.steps_, run_.corpus_);
    TrainPrediction none;
    none.why_none = is_drawn ? "a grid compares losses alone"
                             : "the weights are trained, and the rules are of drawn ones";
    return none;
  }

  /// Takes the weights that the run begins with, and measures them.
  TrainStart start() {
    const PretrainedRun& from = *run_.plan_.from;
    load_weights(from.weights, from.id, passes_);
    TrainStart start;
    start.loss = validation_loss();
    start.pretraining_loss = pretraining_loss();
    return start;
  }

  void step() {
    const std::int64_t step = at_.step + 1;
    const bool records = step == 1 || step % run_.options_.record_every == 0 || step == run_.steps_;
    passes_.set_batch(run_.batches_.train(run_.result_.seed, step));
    passes_.set_mask_step(static_cast<std::uint64_t>(step));
    if (run_.ramp_steps_ > 0) {
      passes_.set_network(run_.plan_.build(run_.model_at(step)));
    }
    StepNorms norms;
    const double loss = records ? trainer_.step(norms) : trainer_.step();
    at_.step = step;
    at_.loss_sum += loss;
    ++at_.loss_count;
    broken_ = !std::isfinite(loss);
    if (records || broken_) record(norms);
  }

  void record(const StepNorms& norms) {
    TrainRecord record;
    record.step = at_.step;
    record.loss = at_.loss_sum / static_cast<double>(at_.loss_count);
    if (!norms.gradient.empty()) {
      record.gradient = by_layer(passes_.parameters(), norms.gradient);
      record.update_ratio = update_ratio(norms);
    }
    record.validation_loss = validation_loss();
    if (earlier_) record.pretraining_loss = pretraining_loss();
    record.scales = scales();
    const std::string line = to_json(record).dump();
    run_.write(line);
    run_.result_.records.push_back(record_from(Json::parse(line)));
    run_.result_.steps = at_.step;
    at_.loss_sum = 0;
    at_.loss_count = 0;
  }

  double update_ratio(const StepNorms& norms) const {
    double sum = 0.0, count = 0.0;
    for (std::size_t i = 0; i < norms.update.size(); ++i) {
      if (!passes_.parameters()[i].is_matrix || norms.parameter[i] == 0.0) continue;
      const double ratio = norms.update[i] / norms.parameter[i];
      sum += ratio * ratio;
      count += 1.0;
    }
    return std::sqrt(sum / count);
  }

  /// Those of one number; a vector in front of features has no one.
  std::vector<std::pair<std::string, double>> scales() const {
    std::vector<std::pair<std::string, double>> found;
    for (std::size_t i = 0; i < passes_.parameters().size(); ++i) {
      const ParameterInfo& info = passes_.parameters()[i];
      if (info.role == "scale" && info.rows * info.columns == 1)
        found.emplace_back(info.path, static_cast<double>(passes_.parameter(i).data[0]));
    }
    return found;
  }

  double validation_loss() { return mean_loss(run_.batches_, run_.options_.validation_batches); }

  /// On the text of the weights that the run began with.
  double pretraining_loss() {
    const std::int64_t batch = run_.spec_.batch;
    const std::int64_t sequences = run_.options_.pretrained->validation_sequences;
    return mean_loss(*earlier_, sequences / batch + (sequences % batch > 0 ? 1 : 0));
  }

  double mean_loss(const Batches& batches, std::int64_t count) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < count; ++i) {
      passes_.set_batch(batches.validation(i));
      sum += passes_.evaluate();
    }
    return sum / static_cast<double>(count);
  }

  Run& run_;
  Passes<float> passes_;
  Trainer<float> trainer_;
  std::optional<Batches> earlier_;  ///< of the text that the first weights were trained on
  Progress at_;
  bool broken_ = false;
};

void Run::train(int threads, const std::function<bool(std::int64_t)>& go_on) {
  Training(*this, threads).go(go_on);
  judge_run();
  write(Json{{"verdict", to_string(result_.verdict)},
             {"steps", result_.steps},
             {"final_loss", result_.final_loss},
             {"perplexity", result_.perplexity}}
            .dump());
  remove_checkpoint(checkpoint_);
  finished_ = true;
}

}  // namespace scalecalc::train_room
