#include "fuzz/fuzz.hpp"
#include "scalecalc/train.hpp"
#include "train/files.hpp"
#include "train/hash.hpp"
#include "train/line_sums.hpp"
#include "train/records.hpp"
#include "train/vocabulary_file.hpp"

/// Folders of `train`: a log and, each behind a zero byte, corpus.json and vocabulary.json. Where
/// one of log and vocabulary.json begins with 's' it gets the right checksums, so
/// that what stands behind those is reached.
namespace scalecalc::fuzz {
namespace {

std::string with_sums(std::string_view log) {
  train_room::LineSums sums;
  std::string text;
  while (!log.empty()) {
    const auto [line, rest] = halves(log, '\n');
    text += sums.add(std::string(line)) + "\n";
    log = rest;
  }
  return text;
}

/// The right one, where the text is an object of JSON.
std::string with_vocabulary_sum(std::string_view text) {
  train_room::Json json = train_room::read_json(text);
  if (!json.is_object()) return std::string(text);
  json.erase("sum");
  const std::string rest = json.dump();
  json["sum"] = train_room::hash(rest.data(), rest.size());
  return json.dump();
}

}  // namespace

void one(std::string_view input) {
  auto [log, texts] = halves(input, '\0');
  const auto [corpus, vocabulary] = halves(texts, '\0');
  const std::string text = log.starts_with('s') ? with_sums(log.substr(1)) : std::string(log);
  const std::string path = file_of(text, "pre-1-seed0.jsonl");
  file_of(corpus, "corpus.json");
  file_of(vocabulary.starts_with('s') ? with_vocabulary_sum(vocabulary.substr(1))
                                      : std::string(vocabulary),
          "vocabulary.json");
  accepts([&] { read_train(folder()); });
  accepts([&] { train_room::Log{path}; });
  accepts([&] {
    const Corpus words = train_room::load_vocabulary(folder(), 7).corpus;
    hold(words.train == words.validation, "other tokens than those of validation");
  });
}

}  // namespace scalecalc::fuzz
