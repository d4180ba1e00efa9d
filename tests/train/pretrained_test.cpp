#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "scalecalc/error.hpp"
#include "scalecalc/pretrained.hpp"
#include "tiny.hpp"
#include "tolerance.hpp"

/// Weights that are kept, and runs that begin with them.
namespace scalecalc {
namespace {

namespace fs = std::filesystem;
using testing::Folder, testing::tiny;

std::map<std::string, std::string> bytes_by_name(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[entry.path().filename().string()] = text.str();
  }
  return files;
}

void put_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A folder of runs with weights, and what others that begin with them are trained by.
struct Tuning {
  Tuning() {
    options.keep_weights = true;
    runs = train(text, options);
    tuned = tiny(later);
    tuned.pretrained = std::make_shared<Pretrained>(read_pretrained(options.folder));
    tuned.model = shared_model(*tuned.pretrained);
    other = in_words_of(tuned.pretrained->corpus, generated_corpus(3000, 1));
  }

  Folder earlier, later;
  TrainOptions options = tiny(earlier), tuned;
  Corpus text = generated_corpus(2000), other;
  std::vector<TrainRun> runs;
};

void refuses(const Tuning& tuning, const TrainOptions& options, const std::string& message) {
  try {
    train(tuning.other, options);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.message() == message);
    CHECK_FALSE(error.hint().empty());
  }
}

}  // namespace

TEST_CASE(
    "fine-tuning: each run begins where the same one ended, and is the same bits if stopped") {
  Tuning tuning;
  const std::vector<TrainRun> tuned = train(tuning.other, tuning.tuned);
  REQUIRE(tuned.size() == tuning.runs.size());
  for (std::size_t i = 0; i < tuned.size(); ++i) {
    REQUIRE(tuned[i].start.has_value());
    const TrainStart& start = *tuned[i].start;
    CHECK(tuned[i].group == tuning.runs[i].group);
    CHECK(tuned[i].seed == tuning.runs[i].seed);
    CHECK(start.text == "generated");
    CHECK(start.steps == 12);
    CHECK(start.final_loss == tuning.runs[i].final_loss);
    // The weights, the tokens and the order of the sums are those of the last record.
    CHECK(start.pretraining_loss == start.final_loss);
    CHECK(std::isfinite(start.loss));
    CHECK(tuned[i].prediction.why_none != "");
    for (const TrainRecord& record : tuned[i].records) {
      REQUIRE(record.pretraining_loss.has_value());
      CHECK(std::isfinite(*record.pretraining_loss));
    }
    CHECK(*tuned[i].records.back().pretraining_loss != start.pretraining_loss);
  }
  const TrainFolder folder = read_train(tuning.tuned.folder);
  REQUIRE(folder.runs.size() == tuned.size());
  CHECK(folder.runs[0].start->loss == tuned[0].start->loss);
  CHECK(folder.runs[0].start->pretraining_loss == tuned[0].start->pretraining_loss);
  CHECK(folder.runs[0].records.back().pretraining_loss == tuned[0].records.back().pretraining_loss);
  CHECK(folder.text == "generated");

  const Folder parts;
  TrainOptions options = tuning.tuned;
  options.folder = parts.path.string();
  int stops = 0;
  for (bool done = false; !done;) {
    int steps = 0;
    options.progress = [&steps](double, const std::string&) { return ++steps < 7; };
    try {
      train(tuning.other, options);
      done = true;
    } catch (const Error& error) {
      CHECK(error.message() == "interrupted");
      ++stops;
    }
  }
  CHECK(stops > 8);
  CHECK(bytes_by_name(parts.path) == bytes_by_name(tuning.later.path));
  CHECK(bytes_by_name(tuning.earlier.path).contains("post-1-seed0.weights"));
  CHECK_FALSE(bytes_by_name(parts.path).contains("post-1-seed0.weights"));
}

TEST_CASE(
    "fine-tuning: at a rate of 0 nothing moves, whatever the batch, and all of it is counted") {
  Tuning tuning;
  tuning.tuned.optimizer.learning_rate = 0;
  tuning.tuned.model.batch = 3;
  tuning.tuned.target_loss = 100;
  for (const TrainRun& run : train(tuning.other, tuning.tuned)) {
    CHECK(run.records.back().validation_loss == run.start->loss);
    CHECK(*run.records.back().pretraining_loss == run.start->pretraining_loss);
    CHECK(run.steps_to_target == 0);
    // Two batches of two sequences are two of three, with two sequences more: another mean of
    // losses that are all near ln(64) after 12 steps.
    CHECK(std::fabs(run.start->pretraining_loss - run.start->final_loss) < std::log(64.0) / 2);
  }
}

TEST_CASE("fine-tuning: a ramp stays where it ended, and folders go on from each other") {
  Tuning tuning;
  for (const PretrainedRun& run : tuning.tuned.pretrained->runs) {
    const double ramp = parse_model(run.model, "model").ramp;
    CHECK(ramp == 1);
  }
  const Folder first, second, third;
  TrainOptions options = tiny(first);
  options.groups = {"none+ramp"};
  options.keep_weights = true;
  options.ramp_steps = 24;  // of 12 steps: it ends halfway
  const std::vector<TrainRun> runs = train(tuning.text, options);
  options.pretrained = std::make_shared<Pretrained>(read_pretrained(options.folder));
  options.folder = second.path.string();
  options.model = shared_model(*options.pretrained);
  options.ramp_steps = 0;
  const std::vector<TrainRun> tuned = train(tuning.other, options);
  CHECK(tuned[0].start->pretraining_loss == runs[0].final_loss);
  options.pretrained = std::make_shared<Pretrained>(read_pretrained(options.folder));
  CHECK(parse_model(options.pretrained->runs[0].model, "model").ramp == 0.5);
  options.folder = third.path.string();
  CHECK(train(tuning.text, options)[0].start->pretraining_loss == tuned[0].final_loss);
}

TEST_CASE("weights that were not kept are made again, against the log") {
  Tuning tuning;
  const Folder without;
  TrainOptions options = tuning.options;
  options.folder = without.path.string();
  options.keep_weights = false;
  train(tuning.text, options);
  CHECK_THROWS_WITH_AS(read_pretrained(options.folder), doctest::Contains("keeps no weights"),
                       Error);
  options.keep_weights = true;
  int steps = 0;
  options.progress = [&steps](double, const std::string&) { return ++steps < 17; };
  CHECK_THROWS_WITH_AS(train(tuning.text, options), doctest::Contains("interrupted"), Error);
  options.progress = {};
  const std::vector<TrainRun> runs = train(tuning.text, options);
  CHECK(runs.back().final_loss == tuning.runs.back().final_loss);
  CHECK(bytes_by_name(without.path) == bytes_by_name(tuning.earlier.path));
}

TEST_CASE("fine-tuning: what contradicts the weights is refused") {
  Tuning tuning;
  TrainOptions options = tuning.tuned;
  options.model.width = 16;
  refuses(tuning, options, "model.width is 16 here, and the weights were trained with 8");
  options = tuning.tuned;
  options.model.sequence = 4;
  refuses(tuning, options, "model.sequence is 4 here, and the weights were trained with 8");
  options = tuning.tuned;
  options.groups = {"pre"};
  refuses(tuning, options, "there is no run pre-1-seed0 to start from");
  options = tuning.tuned;
  options.seed = 1;
  refuses(tuning, options, "there is no run post-1-seed2 to start from");
  options = tuning.tuned;
  train(tuning.other, options);
  const fs::path folder = tuning.earlier.path;
  const std::map<std::string, std::string> files = bytes_by_name(folder);
  // What is refused leaves the folder as it was.
  CHECK_THROWS_WITH_AS(train(tuning.other, tuning.options), doctest::Contains("of another"), Error);
  CHECK(bytes_by_name(folder) == files);
  const auto again = [&] {
    options.pretrained = std::make_shared<Pretrained>(read_pretrained(folder.string()));
  };

  const fs::path weights = folder / "post-1-seed0.weights";
  const std::string bytes = files.at("post-1-seed0.weights");
  const Folder fresh;
  options.folder = fresh.path.string();
  std::string wrong = bytes;
  wrong[wrong.size() - 50] = static_cast<char>(wrong[wrong.size() - 50] ^ 1);
  put_bytes(weights, wrong);
  refuses(tuning, options, "the file of weights is damaged");
  put_bytes(weights, bytes.substr(0, bytes.size() / 2));
  refuses(tuning, options, "the file of weights is cut short");
  put_bytes(weights, files.at("post-1-seed1.weights"));
  refuses(tuning, options, "the file of weights is of another run");
  fs::remove(weights);
  again();
  refuses(tuning, options, "the weights of post-1-seed0 were not kept");

  std::string vocabulary = files.at("vocabulary.json");
  vocabulary[vocabulary.size() / 2] ^= 1;
  put_bytes(folder / "vocabulary.json", vocabulary);
  CHECK_THROWS_WITH_AS(again(), doctest::Contains("the vocabulary is damaged"), Error);
  put_bytes(folder / "vocabulary.json", files.at("vocabulary.json"));
  std::string log = files.at("post-1-seed0.jsonl");
  put_bytes(folder / "post-1-seed0.jsonl", log.substr(0, log.rfind("{\"verdict\"")));
  again();
  refuses(tuning, options, "post-1-seed0 has not ended");
}

TEST_CASE("a text in the words of another: the share that it lacks is told") {
  const testing::TemporaryFolder folder;
  const auto read = [&folder](const std::string& line, TokenLevel level, std::int64_t vocab) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += line;
    put_bytes(folder.path / "text.txt", text);
    return read_corpus({folder / "text.txt"}, level, vocab);
  };
  const Corpus words = read("a b c d\n", TokenLevel::word, 4);  // <unk> <eos> a b
  REQUIRE(words.words == std::vector<std::string>{"<unk>", "<eos>", "a", "b"});
  const Corpus text = in_words_of(words, read("b \xff b\n", TokenLevel::word, 1'000'000));
  CHECK(text.words == words.words);
  CHECK(std::vector<std::int32_t>(text.train.begin(), text.train.begin() + 4) ==
        std::vector<std::int32_t>{3, 0, 3, 1});
  CHECK(text.unknown == 0.25);
  CHECK(text.bytes_per_token == 1.5);  // six bytes for four tokens
  CHECK(in_words_of(words, text).fingerprint == text.fingerprint);
  // Words alone: halves and quarters of whole lines.
  CHECK(text.train.size() % 4 == 0);
  CHECK(text.unigram_entropy == testing::rounded(1.5 * std::log(2.0), 8));

  const Corpus bytes = read("a b", TokenLevel::byte, 256);
  CHECK(in_words_of(bytes, bytes).train == bytes.train);
  CHECK_THROWS_WITH_AS(in_words_of(words, bytes), doctest::Contains("of another kind"), Error);
  CHECK_THROWS_WITH_AS(in_words_of(generated_corpus(1000), text),
                       doctest::Contains("is not among the 64 that were trained on"), Error);
  CHECK_THROWS_AS(in_words_of(symbol_corpus(TrainTask::copy, 1000, 4), words), Error);
}

}  // namespace scalecalc
