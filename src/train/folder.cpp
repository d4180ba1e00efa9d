#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "scalecalc/error.hpp"
#include "train/corpus_file.hpp"
#include "train/differences.hpp"
#include "train/files.hpp"
#include "train/records.hpp"
#include "train/whole_number.hpp"

namespace scalecalc {
namespace {

using train_room::Json;
using train_room::whole;

constexpr char kRemove[] = "remove this file and its checkpoint to train the run again";

/// The log of one run, as it stands.
struct LoggedRun {
  std::string path;
  Json configuration;
  TrainRun run;
  bool finished = false;
  std::size_t order = 0;  ///< of its group
};

class LogReader {
 public:
  explicit LogReader(const std::string& path) { logged_.path = path; }

  LoggedRun read() {
    const std::string text =
        base::read_input(logged_.path, {"log", kRemove, train_room::kMostLogBytes});
    // A last line without an end is one that is being written.
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; ++at_) {
      read_line(text.substr(begin, end - begin));
      begin = end + 1;
    }
    if (sums_.are_missing()) logged_.run.remark = train_room::kNoSums;
    return std::move(logged_);
  }

 private:
  [[noreturn]] void damaged(const std::string& why) const {
    throw Error(ErrorKind::input, why,
                base::shortened(logged_.path) + ":" + std::to_string(at_ + 1), kRemove);
  }

  void read_line(const std::string& with_sum) {
    const std::optional<std::string> line = sums_.take(with_sum);
    if (!line) damaged(train_room::kDamaged);
    const Json json = train_room::read_json(*line);
    if (!json.is_object() || logged_.finished) damaged(train_room::kDamaged);
    try {
      if (at_ == 0) {
        read_configuration(json.at("configuration"));
      } else if (at_ == 1) {
        logged_.run.prediction = train_room::prediction_from(json.at("prediction"));
        if (logged_.run.start) train_room::take_losses(json.at("start"), *logged_.run.start);
      } else if (json.contains("verdict")) {
        read_verdict(json.at("verdict").get<std::string>());
      } else {
        read_record(json);
      }
    } catch (const Json::exception&) {
      damaged(train_room::kDamaged);
    }
  }

  void read_configuration(const Json& json) {
    TrainRun& run = logged_.run;
    run.group = json.at("group").get<std::string>();
    run.layers = whole<std::int64_t>(json.at("layers"));
    run.seed = whole<std::uint64_t>(json.at("seed"));
    const auto is_known = [&run] {
      try {
        return train_group(run.group).name == run.group;
      } catch (const Error&) {
        return false;
      }
    };
    if (!is_known()) damaged("the log is of no placement that is known");
    std::string placement = train_room::placement_of(run.group);
    placement = placement.substr(0, placement.find('+'));
    const auto found = std::ranges::find(train_groups(), placement, &TrainGroup::name);
    logged_.order = static_cast<std::size_t>(found - train_groups().begin());
    if (json.contains("pretrained")) run.start = train_room::start_from(json.at("pretrained"));
    if (json.contains("grid")) run.place = train_room::place_from(json.at("grid"));
    logged_.configuration = json;
  }

  void read_verdict(const std::string& name) {
    for (const TrainVerdict verdict :
         {TrainVerdict::converged, TrainVerdict::stall, TrainVerdict::vanishing,
          TrainVerdict::explosion, TrainVerdict::nan}) {
      if (to_string(verdict) != name) continue;
      logged_.run.verdict = verdict;
      logged_.finished = true;
      return;
    }
    damaged("the log has no verdict that is known");
  }

  void read_record(const Json& json) {
    TrainRun& run = logged_.run;
    run.records.push_back(train_room::record_from(json));
    const TrainRecord& record = run.records.back();
    if (record.step <= run.steps) damaged("a record is out of order");
    run.steps = record.step;
    run.final_loss = record.validation_loss;
    run.perplexity = std::exp(record.validation_loss);
  }

  std::size_t at_ = 0;
  train_room::LineSums sums_;
  LoggedRun logged_;
};

std::vector<std::string> log_paths(const std::string& folder, std::error_code& failure) {
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (entry->path().extension() == ".jsonl") paths.push_back(entry->path().string());
  }
  return paths;
}

std::vector<LoggedRun> read_logs(const std::string& folder) {
  std::error_code failure;
  if (!std::filesystem::is_directory(folder, failure)) {
    const bool is_there = std::filesystem::exists(folder, failure);
    throw Error(ErrorKind::input, is_there ? "it is no folder" : "no such folder",
                base::shortened(folder), "give the folder that scalecalc train -o has filled");
  }
  const std::vector<std::string> paths = log_paths(folder, failure);
  if (failure || paths.empty()) {
    throw Error(ErrorKind::input, failure ? "the folder cannot be read" : "no runs in the folder",
                base::shortened(folder), "give the folder that scalecalc train -o has filled");
  }
  std::vector<LoggedRun> logs;
  for (const std::string& path : paths) {
    LoggedRun logged = LogReader(path).read();
    if (!logged.configuration.is_null()) logs.push_back(std::move(logged));
  }
  if (logs.empty()) {
    throw Error(ErrorKind::input, "no run of the folder has begun", base::shortened(folder),
                "wait for the training, or give another folder");
  }
  std::ranges::sort(logs, {}, [](const LoggedRun& logged) {
    const TrainRun& run = logged.run;
    return std::tuple(logged.order, run.group, run.layers, run.place.width, run.place.values,
                      run.seed);
  });
  return logs;
}

void check_one_experiment(const std::vector<LoggedRun>& logs) {
  const Json first = train_room::common_part(logs.front().configuration);
  for (const LoggedRun& logged : logs) {
    const Json own = train_room::common_part(logged.configuration);
    if (own == first) continue;
    std::string key = "its configuration";
    for (const auto& [name, value] : first.items()) {
      if (!own.contains(name) || own.at(name) != value) key = name;
    }
    throw Error(ErrorKind::input, "the runs of the folder are not of one experiment",
                fmt::format("{}: {} is not as in {}", base::shortened(logged.path), key,
                            base::shortened(logs.front().path)),
                "keep runs of one experiment in one folder");
  }
}

/// One model a group, all of the least depth that every group has.
std::vector<std::pair<std::string, std::string>> models_of(const std::vector<LoggedRun>& logs) {
  std::map<std::int64_t, std::vector<std::pair<std::string, std::string>>> by_depth;
  std::vector<std::pair<std::string, std::string>> any;
  for (const LoggedRun& logged : logs) {
    const std::pair<std::string, std::string> model{
        logged.run.group, logged.configuration.at("model").get<std::string>()};
    auto& at_depth = by_depth[logged.run.layers];
    if (at_depth.empty() || at_depth.back().first != model.first) at_depth.push_back(model);
    if (any.empty() || any.back().first != model.first) any.push_back(model);
  }
  for (const auto& [depth, models] : by_depth) {
    if (models.size() == any.size()) return models;
  }
  return any;
}

OptimizerOptions optimizer_from(const Json& json) {
  OptimizerOptions options = optimizer_options(json.at("name").get<std::string>());
  options.learning_rate = json.at("learning_rate").get<double>();
  const Json& schedule = json.at("schedule");
  const int kind = whole<int>(schedule.at(0));
  options.schedule.kind = static_cast<Schedule::Kind>(std::clamp(kind, 0, 3));
  options.schedule.warmup = whole<std::int64_t>(schedule.at(1));
  options.schedule.steps = whole<std::int64_t>(schedule.at(2));
  options.schedule.final = schedule.at(3).get<double>();
  options.weight_decay = json.at("weight_decay").get<double>();
  options.clip_norm = json.at("clip_norm").get<double>();
  if (json.contains("rest")) options.rest = {optimizer_from(json.at("rest"))};
  options.first_roles = json.value("first_roles", options.first_roles);
  return options;
}

void read_common(const std::string& folder, const std::vector<LoggedRun>& logs,
                 TrainFolder& result) {
  const Json& config = logs.front().configuration;
  try {
    result.steps = whole<std::int64_t>(config.at("steps"));
    result.record_every = whole<std::int64_t>(config.at("record_every"));
    result.validation_batches = whole<std::int64_t>(config.at("validation_batches"));
    result.optimizer = optimizer_from(config.at("optimizer"));
    const Json& corpus = config.at("corpus");
    result.text = corpus.at("name").get<std::string>();
    result.tokens = whole<std::int64_t>(corpus.at("tokens"));
    result.vocab = whole<std::int64_t>(corpus.at("vocab"));
    train_room::load_corpus(folder, whole<std::uint64_t>(corpus.at("fingerprint")), result);
    if (config.contains("tuning")) result.tuning = config.at("tuning").dump();
    const auto models = models_of(logs);
    result.model = models.front().second;
    for (const LoggedRun& log : logs)
      result.models.emplace(std::pair(log.configuration.at("group").get<std::string>(),
                                      whole<std::int64_t>(log.configuration.at("layers"))),
                            log.configuration.at("model").get<std::string>());
    result.differences = train_room::model_differences(models);
  } catch (const Json::exception&) {
    throw Error(ErrorKind::input, train_room::kDamaged, base::shortened(logs.front().path) + ":1",
                kRemove);
  }
}

}  // namespace

train_room::Json train_room::logged_configuration(const std::string& path) {
  const std::string text = base::read_input(path, {"log", kRemove, kMostLogBytes});
  LineSums sums;
  const std::optional<std::string> line = sums.take(text.substr(0, text.find('\n')));
  const Json json = line ? read_json(*line) : Json();
  return json.is_object() ? json.value("configuration", Json()) : Json();
}

void train_room::check_others(const std::string& folder, const Json& configuration) {
  const Json& own = configuration.at("configuration");
  std::error_code failure;
  for (const std::string& path : log_paths(folder, failure)) {
    const Json there = logged_configuration(path);
    if (!there.is_object() || (!there.contains("grid") && !own.contains("grid"))) continue;
    const Json here = common_part(own), common = common_part(there);
    if (here == common) continue;
    throw Error(ErrorKind::input, "the folder has a run of another configuration",
                base::shortened(path) + ": " + first_difference(here, common),
                "give the same options, or -o another folder");
  }
}

TrainFolder read_train(const std::string& folder, double target_loss) {
  TrainFolder result;
  std::vector<LoggedRun> logs = read_logs(folder);
  check_one_experiment(logs);
  read_common(folder, logs, result);
  const double target = train_target(result, target_loss);
  for (LoggedRun& logged : logs) {
    TrainRun& run = logged.run;
    if (!logged.finished) run.verdict = judge(run.records, result.vocab, result.unigram_entropy);
    run.steps_to_target = steps_to_loss(run, target);
    result.finished.push_back(logged.finished);
    result.runs.push_back(std::move(run));
  }
  return result;
}

}  // namespace scalecalc
