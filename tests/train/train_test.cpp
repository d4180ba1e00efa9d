#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "cluster/thread_ranks.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/train.hpp"
#include "tiny.hpp"

namespace scalecalc {
namespace {

namespace fs = std::filesystem;
using testing::Folder, testing::tiny;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Every file of the folder, one after the other.
std::string files_of(const Folder& folder) {
  std::set<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder.path)) paths.insert(entry.path());
  std::string all;
  for (const fs::path& path : paths) all += path.filename().string() + "\n" + text_of(path);
  return all;
}

void check_wrong(const TrainOptions& options, const Corpus& corpus, const std::string& message) {
  try {
    train(corpus, options);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.message() == message);
    CHECK_FALSE(error.hint().empty());
  }
}

}  // namespace

TEST_CASE("train: stopped anywhere and begun again, the files are the same bytes") {
  const Corpus corpus = generated_corpus(2000);
  const Folder whole, parts;
  TrainOptions options = tiny(whole);
  const std::vector<TrainRun> expected = train(corpus, options);
  CHECK(expected.size() == 8);
  options.folder = parts.path.string();
  options.threads = 2;
  int stops = 0;
  for (bool done = false; !done;) {
    int steps = 0;
    options.progress = [&steps](double, const std::string&) { return ++steps < 7; };
    try {
      train(corpus, options);
      done = true;
    } catch (const Error& error) {
      CHECK(error.message() == "interrupted");
      ++stops;
    }
  }
  CHECK(stops > 8);
  CHECK(files_of(parts) == files_of(whole));
  options.progress = [](double, const std::string&) -> bool { throw 1; };
  const std::vector<TrainRun> again = train(corpus, options);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(again[i].final_loss == expected[i].final_loss);
    CHECK(again[i].verdict == expected[i].verdict);
    CHECK(again[i].records.size() == 4);  // of steps 1, 5, 10, 12
    CHECK(again[i].steps == 12);
  }
}

TEST_CASE("train: an encoder and its decoder learn to say a sequence again, or from its end") {
  for (const TrainTask task : {TrainTask::copy, TrainTask::reverse}) {
    const Corpus corpus = symbol_corpus(task, 20000, 4);
    const Folder folder;
    TrainOptions options = tiny(folder);
    options.groups = {"post"};
    options.depths = {1};
    options.seeds = 1;
    options.model.width = 32;
    options.model.ffn = 64;
    options.model.heads = 2;
    options.model.sequence = 4;
    options.model.batch = 32;
    options.model.dropout = options.model.attention_dropout = 0;
    options.optimizer.learning_rate = 1e-2;
    options.steps = 400;
    options.record_every = 100;
    const std::vector<TrainRun> runs = train(corpus, options);
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].verdict == TrainVerdict::converged);
    CHECK(runs[0].prediction.why_none.empty());
    // Of ln 4 nats a symbol less than a tenth is left to guess.
    CHECK(runs[0].final_loss < 0.1 * std::log(4.0));
    const LayerNorms& norms = runs[0].prediction.gradient;
    CHECK(norms.layers[0] == "embedding");
    CHECK(norms.layers[1] == "encoder.embedding");
    CHECK(norms.layers[2] == "encoder.input");
  }
}

TEST_CASE("train: two stacks have the scales of their group at both depths") {
  const Corpus corpus = symbol_corpus(TrainTask::copy, 2000, 5);
  TrainOptions options = train_profile("small");
  options.model.decoder_layers = parse("N/2");
  const ModelSpec solved = train_model(options, train_group("deepnorm"), 8, corpus);
  CHECK(solved.encoder_decoder);
  CHECK(solved.memory.sequence == solved.sequence);
  CHECK(solved.decoder_alpha->contains("M"));
  const ModelSpec published = train_model(options, train_group("deepnet"), 8, corpus);
  CHECK(*published.decoder_alpha == parse("(3*M)^(1/4)"));
  CHECK(*decoder_of(train_model(options, train_group("post"), 8, corpus)).alpha == Expr(1));
  options.model.encoder_decoder = true;
  CHECK_THROWS_AS(train_model(options, train_group("post"), 2, generated_corpus(1000)), Error);
}

TEST_CASE("train: ranks share the runs, and the files are those of one process") {
  const Corpus corpus = generated_corpus(2000);
  const Folder one;
  const std::vector<TrainRun> expected = train(corpus, tiny(one));
  for (const int size : {2, 3, 10}) {
    CAPTURE(size);
    const Folder shared;
    std::atomic<int> results = 0, same = 0;
    const auto train_share = [&](Ranks& ranks) {
      TrainOptions options = tiny(shared);
      options.ranks = &ranks;
      const std::vector<TrainRun> runs = train(corpus, options);
      results += static_cast<int>(runs.size());
      for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].final_loss == expected[i].final_loss && runs[i].seed == expected[i].seed)
          ++same;
      }
    };
    const std::vector<std::string> well(static_cast<std::size_t>(size));
    CHECK(on_ranks(size, train_share) == well);
    CHECK(results == 8);
    CHECK(same == 8);
    CHECK(files_of(shared) == files_of(one));
    CHECK(on_ranks(size, train_share) == well);  // everything is finished
    CHECK(same == 16);
  }
}

TEST_CASE("train: what one rank meets, all throw, and what is finished is kept") {
  const Corpus corpus = generated_corpus(2000);
  const Folder whole, parts;
  train(corpus, tiny(whole));
  const auto stopped_at = [&](int steps) {
    return on_ranks(2, [&, steps](Ranks& ranks) {
      TrainOptions options = tiny(parts);
      options.ranks = &ranks;
      int taken = 0;
      const bool stops = ranks.rank() == 1;
      options.progress = [&, stops](double, const std::string&) {
        return !stops || ++taken < steps;
      };
      train(corpus, options);
    });
  };
  for (const int steps : {3, 3, 3}) {
    for (const std::string& error : stopped_at(steps)) CHECK(error.starts_with("interrupted"));
  }
  CHECK(stopped_at(1000) == std::vector<std::string>{"", ""});
  CHECK(files_of(parts) == files_of(whole));
}

TEST_CASE("train: a torn line is written again, a lost checkpoint begins again") {
  const Corpus corpus = generated_corpus(2000);
  const Folder whole, torn;
  TrainOptions options = tiny(whole);
  options.groups = {"pre"};
  options.depths = {1};
  options.seeds = 1;
  train(corpus, options);
  options.folder = torn.path.string();
  train(corpus, options);
  const fs::path log = torn.path / "pre-1-seed0.jsonl";
  const std::string text = text_of(log);
  for (const std::size_t kept : {text.size() - 3, text.size() / 2, std::size_t{10}}) {
    fs::resize_file(log, kept);
    train(corpus, options);
    CHECK(text_of(log) == text);
  }
}

TEST_CASE("train: damaged files and other experiments are errors") {
  const Corpus corpus = generated_corpus(2000);
  const Folder folder;
  TrainOptions options = tiny(folder);
  options.groups = {"pre"};
  options.depths = {1};
  options.seeds = 1;
  train(corpus, options);
  TrainOptions other = options;
  other.optimizer.learning_rate = 0.5;
  check_wrong(other, corpus, "the folder has a run of another configuration");
  check_wrong(options, generated_corpus(2000, 1), "the folder has a run of another configuration");
  const fs::path log = folder.path / "pre-1-seed0.jsonl";
  std::string text = text_of(log);
  const std::string good = text;
  text[text.find("\"step\":5") + 3] = '\n';
  std::ofstream(log, std::ios::binary) << text;
  check_wrong(options, corpus, "the log is damaged");
  // A number of a run under way that this machine does not come to.
  text = testing::without_sums(good.substr(0, good.find("{\"step\":5")));
  text.replace(text.find("\"update_ratio\":") + 15, 1, "9");
  std::ofstream(log, std::ios::binary) << text;
  check_wrong(options, corpus, "this machine computes other numbers than the log has");
  // A checkpoint with one byte changed.
  std::ofstream(log, std::ios::binary) << "";
  int steps = 0;
  options.progress = [&steps](double, const std::string&) { return ++steps < 7; };
  check_wrong(options, corpus, "interrupted");
  const fs::path checkpoint = folder.path / "pre-1-seed0.checkpoint";
  std::string bytes = text_of(checkpoint);
  bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
  std::ofstream(checkpoint, std::ios::binary) << bytes;
  check_wrong(options, corpus, "the checkpoint is damaged");
  std::ofstream(checkpoint, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  check_wrong(options, corpus, "the checkpoint is cut short");
}

TEST_CASE("train: groups share batches, and differ in placement and scales alone") {
  const Corpus corpus = generated_corpus(2000);
  TrainOptions options = train_profile("small");
  options.groups.clear();
  for (const TrainGroup& group : train_groups()) options.groups.push_back(group.name);
  const std::vector<GroupDifference> differences = train_differences(options, corpus);
  std::set<std::string> groups;
  for (const GroupDifference& difference : differences) {
    CAPTURE(difference.group);
    const bool allowed = difference.key == "model.placement" || difference.key == "model.alpha" ||
                         difference.key == "model.lambda" || difference.key == "model.ramp" ||
                         difference.key == "model.residual_attention";
    CHECK_MESSAGE(allowed, difference.key);
    groups.insert(difference.group);
  }
  CHECK(groups.size() == train_groups().size() - 1);
  CHECK(train_differences(train_profile("full"), corpus).size() >= 2);
}

TEST_CASE("train: dropout at other places, and nothing else differs") {
  const Corpus corpus = generated_corpus(2000);
  const Folder folder;
  TrainOptions options = tiny(folder);
  options.groups = {"pre", "pre@branch+input", "post@activation", "resi-dual@activation"};
  options.depths = {1};
  options.seeds = 1;
  std::vector<std::string> lines;
  for (const GroupDifference& difference : train_differences(options, corpus))
    lines.push_back(difference.group + " " + difference.key + " " + difference.value + " for " +
                    difference.reference);
  CHECK(lines == std::vector<std::string>{
                     "pre@input+branch model.dropout_place \"input+branch\" for default",
                     "post@activation model.dropout_place \"activation\" for default",
                     "post@activation model.placement \"post\" for \"pre\"",
                     "resi-dual@activation model.dropout_place \"activation\" for default",
                     "resi-dual@activation model.placement \"resi-dual\" for \"pre\""});
  const std::vector<TrainRun> runs = train(corpus, options);
  REQUIRE(runs.size() == 4);
  CHECK(runs[1].group == "pre@input+branch");
  CHECK(fs::exists(folder.path / "pre@input+branch-1-seed0.jsonl"));
  CHECK(runs[0].final_loss != runs[1].final_loss);
  for (const TrainRun& run : runs) CHECK(run.prediction.why_none == "");
  const std::string before = files_of(folder);
  train(corpus, options);
  CHECK(files_of(folder) == before);
  const TrainFolder read = read_train(options.folder);
  std::vector<std::string> groups;
  for (const TrainRun& run : read.runs) groups.push_back(run.group);
  CHECK(groups == std::vector<std::string>{"post@activation", "pre", "pre@input+branch",
                                           "resi-dual@activation"});
  for (const GroupDifference& difference : read.differences)
    CHECK((difference.key == "model.placement" || difference.key == "model.dropout_place"));

  // The place is of the run's identity: another one in the shared model is another experiment.
  TrainOptions other = options;
  other.groups = {"pre"};
  other.model.dropout_place = {.stream = true};
  check_wrong(other, corpus, "the folder has a run of another configuration");
  other = options;
  other.groups = {"pre", "pre@branch"};
  check_wrong(other, corpus, "'pre' and 'pre@branch' are one model");
  other.groups = {"post", "pre@branch", "pre@branch"};
  check_wrong(other, corpus, "'pre@branch' is given twice");
  other.groups = {"resi-dual@stream"};
  check_wrong(other, corpus,
              "placement resi-dual has two streams, and dropout_place stream means one");
  other.groups = {"pre@brnch"};
  check_wrong(other, corpus, "unknown place of dropout 'brnch'");
  other.groups = {"pree@branch"};
  check_wrong(other, corpus, "unknown placement 'pree'");
  other.groups = {"pre@input"};
  other.model.dropout = 0;
  check_wrong(other, corpus, "dropout is 0, so its place changes nothing");
}

TEST_CASE("train: verdicts") {
  TrainRecord record;
  record.gradient = {1.0, {"embedding", "block[0]", "block[1]"}, {1e-5, 0.5, 0.1}};
  record.loss = record.validation_loss = 2.0;
  const auto verdict = [&record] { return judge({record}, 10, 2.2); };
  CHECK(verdict() == TrainVerdict::converged);
  record.validation_loss = 2.15;
  CHECK(verdict() == TrainVerdict::stall);
  record.gradient.norms[1] = 1e-4;
  CHECK(verdict() == TrainVerdict::vanishing);
  record.validation_loss = 2.6;
  CHECK(verdict() == TrainVerdict::explosion);
  record.validation_loss = 2.0;
  record.gradient.total = 2e3;
  CHECK(verdict() == TrainVerdict::explosion);
  record.loss = std::nan("");
  CHECK(verdict() == TrainVerdict::nan);
}

TEST_CASE("train: steps to a loss, the median over seeds") {
  const auto at = [](std::int64_t step, double loss) {
    TrainRecord record;
    record.step = step;
    record.validation_loss = loss;
    return record;
  };
  const std::vector<TrainRecord> records = {at(1, 3.0), at(50, 2.0), at(100, 2.5), at(150, 1.0)};
  CHECK(steps_to_loss(records, 2.0) == 50);
  CHECK(steps_to_loss(records, 1.5) == 150);
  CHECK_FALSE(steps_to_loss(records, 0.9).has_value());
  CHECK_FALSE(steps_to_loss({at(1, std::nan(""))}, 9.0).has_value());

  std::vector<TrainRun> runs(3);
  runs[0].steps_to_target = 150;
  runs[1].steps_to_target = 50;
  CHECK(train_table(runs).at(0).steps_to_target == 150);
  CHECK(train_table(runs).at(0).reached == 2);
  runs.pop_back();
  CHECK(train_table(runs).at(0).steps_to_target == 100);
  runs[0].steps_to_target.reset();
  CHECK(std::isnan(train_table(runs).at(0).steps_to_target));

  TrainOptions options;
  Corpus corpus;
  corpus.unigram_entropy = 2.0;
  CHECK(train_target(options, corpus) == doctest::Approx(1.9));
  options.target_loss = 1.25;
  CHECK(train_target(options, corpus) == 1.25);
}

TEST_CASE("train: a forecast is of the run's own length, and kept in its log") {
  const Corpus corpus = generated_corpus(2000);
  const Folder folder;
  TrainOptions options = tiny(folder);
  options.groups = {"pre", "none+ramp", "rezero"};
  options.depths = {1};
  options.seeds = 1;
  options.optimizer.schedule.warmup = 3;
  const std::vector<TrainRun> runs = train(corpus, options);
  const std::vector<TrainRun> read = read_train(folder.path.string()).runs;
  REQUIRE(read.size() == runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CAPTURE(runs[i].group);
    REQUIRE(runs[i].prediction.signs);
    CHECK(runs[i].prediction.signs->why_none == "");
    CHECK(runs[i].prediction.signs->without_step == "");
    CHECK(runs[i].prediction.length.warmup == 3);
    CHECK(runs[i].prediction.length.full_steps == doctest::Approx(1.0 / 3 + 2.0 / 3 + 10));
    const auto same = std::ranges::find(read, runs[i].group, &TrainRun::group);
    REQUIRE(same != read.end());
    CHECK(forecast(same->prediction)->probability == forecast(runs[i].prediction)->probability);
  }
  // A ramp is judged at its end: as a model without one.
  ModelSpec open = train_model(options, train_group("none"), 1, corpus);
  Network network = build_network(open);
  network.token_collision = network.target_collision = corpus.collision;
  const ForecastSigns expected = forecast_signs(network, options.optimizer);
  CHECK(runs[1].group == "none+ramp");
  CHECK(runs[1].prediction.signs->identity_weight == expected.identity_weight);
  CHECK(forecast_outcomes(runs).size() == 3);
  TrainPrediction old;  // of a log of an earlier version
  CHECK_FALSE(forecast(old));
}

TEST_CASE("train: every group has a prediction where it is shallow") {
  const Corpus corpus = generated_corpus(2000);
  const Folder folder;
  TrainOptions options = tiny(folder);
  options.groups.clear();
  for (const TrainGroup& group : train_groups()) options.groups.push_back(group.name);
  options.depths = {1};
  options.seeds = 1;
  options.steps = 1;
  for (const TrainRun& run : train(corpus, options)) {
    CAPTURE(run.group);
    CHECK(run.prediction.why_none == "");
    CHECK(std::isfinite(run.prediction.loss_change));
  }
}

TEST_CASE("train: the table has means and standard errors of what is finite") {
  std::vector<TrainRun> runs(3);
  runs[0].group = runs[1].group = runs[2].group = "pre";
  runs[0].final_loss = 1.0;
  runs[1].final_loss = 3.0;
  runs[2].final_loss = std::nan("");
  runs[0].verdict = TrainVerdict::converged;
  runs[2].verdict = TrainVerdict::nan;
  const std::vector<TrainCell> cells = train_table(runs);
  REQUIRE(cells.size() == 1);
  CHECK(cells[0].runs == 3);
  CHECK(cells[0].converged == 1);
  CHECK(cells[0].loss == 2.0);
  CHECK(cells[0].loss_error == 1.0);
  CHECK(cells[0].verdicts == std::vector<std::string>{"converged", "stall", "nan"});
}

}  // namespace scalecalc
