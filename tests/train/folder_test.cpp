#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "scalecalc/error.hpp"
#include "scalecalc/train.hpp"
#include "tiny.hpp"

namespace scalecalc {
namespace {

namespace fs = std::filesystem;

struct Experiment {
  Experiment() {
    options.groups = {"post", "deepnorm"};
    options.depths = {2, 1};
  }
  testing::Folder folder;
  fs::path path = folder.path;
  TrainOptions options = testing::tiny(folder);
  Corpus corpus = generated_corpus(2000);
};

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

TEST_CASE("read_train: a folder gives back what train() returned") {
  Experiment experiment;
  std::vector<TrainRun> runs = train(experiment.corpus, experiment.options);
  const TrainFolder folder = read_train(experiment.options.folder);
  REQUIRE(folder.runs.size() == runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const TrainRun& read = folder.runs[i];
    // Groups as they were asked for, depths rising.
    const std::size_t at = i / 4 * 4 + (i + 2) % 4;
    const TrainRun& run = runs[at];
    CHECK(folder.finished[i]);
    CHECK(read.group == run.group);
    CHECK(read.layers == run.layers);
    CHECK(read.seed == run.seed);
    CHECK(read.verdict == run.verdict);
    CHECK(read.steps == run.steps);
    CHECK(read.final_loss == run.final_loss);
    CHECK(read.perplexity == run.perplexity);
    CHECK(read.steps_to_target == run.steps_to_target);
    CHECK(same(read.prediction.gradient.total, run.prediction.gradient.total));
    REQUIRE(read.records.size() == run.records.size());
    CHECK(read.records.back().gradient.norms == run.records.back().gradient.norms);
  }
  const auto differences = train_differences(experiment.options, experiment.corpus);
  REQUIRE(folder.differences.size() == differences.size());
  CHECK(folder.differences[0].key == differences[0].key);
  CHECK(folder.differences[0].value == differences[0].value);
  CHECK(folder.steps == 12);
  CHECK(folder.record_every == 5);
  CHECK(folder.validation_batches == 2);
  CHECK(folder.optimizer.name == "adamw");
  CHECK(folder.optimizer.learning_rate == experiment.options.optimizer.learning_rate);
  CHECK(folder.text == experiment.corpus.name);
  CHECK(folder.description == experiment.corpus.description);
  CHECK(folder.tokens == 2000);
  CHECK(folder.vocab == experiment.corpus.vocab());
  CHECK(folder.unigram_entropy == experiment.corpus.unigram_entropy);
  CHECK(folder.entropy == experiment.corpus.entropy.value());
  CHECK(train_target(folder) == train_target(experiment.options, experiment.corpus));
  CHECK(train_target(folder, 2.5) == 2.5);
  CHECK(read_train(experiment.options.folder, 1e3).runs[0].steps_to_target == 1);
}

TEST_CASE("read_train: while it is trained, and of an earlier program") {
  Experiment experiment;
  int steps = 0;
  experiment.options.threads = 1;
  experiment.options.progress = [&steps](double, const std::string&) { return ++steps < 18; };
  CHECK_THROWS_AS(train(experiment.corpus, experiment.options), Error);
  std::ofstream(experiment.path / "post-2-seed1.jsonl", std::ios::app) << "{\"step\":";
  const TrainFolder folder = read_train(experiment.options.folder);
  int finished = 0, begun = 0;
  for (std::size_t i = 0; i < folder.runs.size(); ++i) {
    finished += folder.finished[i] ? 1 : 0;
    begun += !folder.finished[i] && folder.runs[i].steps > 0 ? 1 : 0;
    CHECK(folder.runs[i].steps <= 12);
  }
  CHECK(finished == 1);
  CHECK(begun == 1);
  fs::remove(experiment.path / "corpus.json");
  const TrainFolder older = read_train(experiment.options.folder);
  CHECK(std::isnan(older.unigram_entropy));
  CHECK(std::isnan(train_target(older)));
  CHECK(older.description.empty());
}

TEST_CASE("read_train: nothing there") {
  CHECK_THROWS_WITH_AS(read_train("/none"), doctest::Contains("no such folder"), Error);
  const Experiment experiment;
  fs::create_directory(experiment.path);
  CHECK_THROWS_WITH_AS(read_train(experiment.options.folder), doctest::Contains("no runs"), Error);
}

}  // namespace scalecalc
