#include "scalecalc/pretrained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/text.hpp"
#include "scalecalc/error.hpp"
#include "train/files.hpp"
#include "train/records.hpp"
#include "train/vocabulary_file.hpp"
#include "train/whole_number.hpp"

namespace scalecalc {
namespace {

using train_room::Json;
using train_room::whole;

constexpr char kKeep[] = "the same training with --keep-weights makes them";

std::string stem_of(const std::string& folder, const TrainRun& run) {
  return (std::filesystem::path(folder) / train_room::run_name(run)).string();
}

PretrainedRun pretrained_from(const std::string& folder, const TrainRun& run, bool finished) {
  const std::string stem = stem_of(folder, run);
  const Json configuration = train_room::logged_configuration(stem + ".jsonl");
  PretrainedRun made;
  made.group = run.group;
  made.layers = run.layers;
  made.seed = run.seed;
  made.finished = finished;
  made.steps = run.steps;
  made.final_loss = run.final_loss;
  made.id = train_room::run_id({{"configuration", configuration}});
  made.weights = stem + train_room::kWeightsEnding;
  std::error_code none;
  made.has_weights = std::filesystem::exists(made.weights, none);
  try {
    ModelSpec spec = parse_model(configuration.at("model").get<std::string>(), "model");
    if (configuration.contains("ramp_steps"))
      spec.ramp = std::min(
          1.0, static_cast<double>(run.steps) / configuration.at("ramp_steps").get<double>());
    made.model = model_text(spec);
  } catch (const Json::exception&) {
    throw Error(ErrorKind::input, train_room::kDamaged, base::shortened(stem + ".jsonl") + ":1",
                "remove this file to train the run again");
  }
  return made;
}

std::string name_of(const std::string& group, std::int64_t layers, std::uint64_t seed) {
  TrainRun run;
  run.group = group;
  run.layers = layers;
  run.seed = seed;
  return train_room::run_name(run);
}

/// Keys that no weight depends on: batches and masks are drawn anew, scales are those that the
/// weights were trained with.
bool may_differ(const std::string& key) {
  static const std::vector<std::string> keys = {"batch",          "dropout", "attention_dropout",
                                                "alpha",          "lambda",  "decoder_alpha",
                                                "decoder_lambda", "ramp",    "optimizer"};
  return key.starts_with("model.") && std::ranges::find(keys, key.substr(6)) != keys.end();
}

void check_same_model(const std::string& there, const std::string& here, const std::string& run) {
  std::map<std::string, std::string> trained;
  for (const auto& [key, value] : model_entries(there)) trained[key] = value;
  const auto check = [&run](const std::string& key, const std::string& before,
                            const std::string& now) {
    if (before == now || may_differ(key)) return;
    throw Error(
        ErrorKind::input,
        fmt::format("{} is {} here, and the weights were trained with {}", key, now, before), run,
        "leave it out, or start from other weights");
  };
  for (const auto& [key, value] : model_entries(here)) {
    const auto found = trained.find(key);
    check(key, found == trained.end() ? "default" : found->second, value);
    if (found != trained.end()) trained.erase(found);
  }
  for (const auto& [key, value] : trained) check(key, value, "default");
}

}  // namespace

Pretrained read_pretrained(const std::string& folder) {
  const TrainFolder read = read_train(folder);
  if (!read.tuning.empty())
    throw Error(ErrorKind::input, "the runs of a grid keep no weights", base::shortened(folder),
                "give a folder that train without --grid has filled");
  Pretrained made;
  made.folder = folder;
  for (std::size_t i = 0; i < read.runs.size(); ++i)
    made.runs.push_back(pretrained_from(folder, read.runs[i], read.finished[i]));
  const Json configuration =
      train_room::logged_configuration(stem_of(folder, read.runs.front()) + ".jsonl");
  const auto fingerprint = whole<std::uint64_t>(configuration.at("corpus").at("fingerprint"));
  train_room::Vocabulary vocabulary = train_room::load_vocabulary(folder, fingerprint);
  if (vocabulary.corpus.vocab() != read.vocab)
    throw Error(ErrorKind::input, "the vocabulary is of another text than the runs",
                base::shortened(folder), kKeep);
  made.corpus = std::move(vocabulary.corpus);
  made.corpus.description = read.description;
  made.corpus.license = read.license;
  made.corpus.unigram_entropy = read.unigram_entropy;
  made.validation_sequences = vocabulary.validation_sequences;
  return made;
}

ModelSpec shared_model(const Pretrained& pretrained) {
  const auto is_plain = [](const PretrainedRun& run) {
    const TrainGroup group = train_group(run.group);
    return !group.residual_attention && !group.dropout_place;
  };
  const auto plain = std::ranges::find_if(pretrained.runs, is_plain);
  const bool is_found = plain != pretrained.runs.end();
  ModelSpec spec = parse_model((is_found ? *plain : pretrained.runs.front()).model, "model");
  if (is_found) return spec;
  spec.residual_attention = false;
  spec.dropout_place = {};
  return spec;
}

const PretrainedRun& pretrained_run(const Pretrained& pretrained, const std::string& group,
                                    std::int64_t layers, std::uint64_t seed) {
  const auto fail = [&](const std::string& why, const std::string& hint) {
    return Error(ErrorKind::input, why, base::shortened(pretrained.folder), hint);
  };
  const std::string name = name_of(group, layers, seed);
  for (const PretrainedRun& run : pretrained.runs) {
    if (run.group != group || run.layers != layers || run.seed != seed) continue;
    if (!run.finished)
      throw fail(name + " has not ended", "the command that began it goes on with it");
    if (!std::isfinite(run.final_loss))
      throw fail(name + " ended in no number", "leave it out by --placements, --depths or --seeds");
    if (!run.has_weights) throw fail("the weights of " + name + " were not kept", kKeep);
    return run;
  }
  const PretrainedRun& first = pretrained.runs.front();
  throw fail("there is no run " + name + " to start from",
             "name runs of it, such as " + name_of(first.group, first.layers, first.seed) +
                 ", by --placements, --depths, --seeds and --seed");
}

ModelSpec finetuned_model(const TrainOptions& options, const TrainGroup& group,
                          const PretrainedRun& run, const Corpus& corpus) {
  const ModelSpec wanted = train_model(options, group, run.layers, corpus);
  check_same_model(run.model, model_text(wanted), name_of(run.group, run.layers, run.seed));
  ModelSpec spec = parse_model(run.model, "model");
  spec.batch = wanted.batch;
  spec.dropout = wanted.dropout;
  spec.attention_dropout = wanted.attention_dropout;
  spec.optimizer = wanted.optimizer;
  validate(spec, group.name);
  return spec;
}

}  // namespace scalecalc
