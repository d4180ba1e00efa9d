#include "fuzz/fuzz.hpp"
#include "scalecalc/train.hpp"
#include "train/files.hpp"
#include "train/line_sums.hpp"

/// Folders of `train`: a log and, behind a zero byte, corpus.json. Where the log begins with 's'
/// its lines get the right checksums, so that what stands behind those is reached.
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

}  // namespace

void one(std::string_view input) {
  auto [log, corpus] = halves(input, '\0');
  const std::string text = log.starts_with('s') ? with_sums(log.substr(1)) : std::string(log);
  const std::string path = file_of(text, "pre-1-seed0.jsonl");
  file_of(corpus, "corpus.json");
  accepts([&] { read_train(folder()); });
  accepts([&] { train_room::Log{path}; });
}

}  // namespace scalecalc::fuzz
