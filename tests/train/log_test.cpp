#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "scalecalc/error.hpp"
#include "tiny.hpp"
#include "train/files.hpp"

namespace scalecalc {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// One finished run.
struct Trained {
  Trained() {
    options.groups = {"pre"};
    options.depths = {1};
    options.seeds = 1;
    train(corpus, options);
  }
  testing::Folder folder;
  TrainOptions options = testing::tiny(folder);
  Corpus corpus = generated_corpus(2000);
  fs::path log = folder.path / "pre-1-seed0.jsonl";
  std::string text() const { return text_of(log); }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  return lines;
}

bool all_taken(const std::vector<std::string>& lines) {
  train_room::LineSums sums;
  return std::ranges::all_of(lines,
                             [&](const std::string& line) { return sums.take(line).has_value(); });
}

}  // namespace

TEST_CASE("a log: any digit that is changed is noticed, in every line") {
  const Trained trained;
  const std::vector<std::string> lines = lines_of(trained.text());
  CHECK(all_taken(lines));
  std::size_t changed = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t at = 0; at < lines[i].size(); ++at) {
      if (!std::isdigit(static_cast<unsigned char>(lines[i][at]))) continue;
      std::vector<std::string> other = lines;
      other[i][at] = other[i][at] == '9' ? '0' : static_cast<char>(other[i][at] + 1);
      CAPTURE(other[i]);
      REQUIRE_FALSE(all_taken(other));
      ++changed;
    }
  }
  CHECK(changed > 500);
}

TEST_CASE("a log: a line that is missing, twice, elsewhere or without its checksum is noticed") {
  const Trained trained;
  const std::vector<std::string> lines = lines_of(trained.text());
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    CAPTURE(i);
    std::vector<std::string> other = lines;
    other.erase(other.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK_FALSE(all_taken(other));
    other = lines;
    other.insert(other.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    CHECK_FALSE(all_taken(other));
    other = lines;
    std::swap(other[i], other[i + 1]);
    CHECK_FALSE(all_taken(other));
    other = lines;
    other[i] = testing::without_sums(other[i] + "\n");
    other[i].pop_back();
    CHECK_FALSE(all_taken(other));
  }
}

TEST_CASE("a log: both who read it see what was changed") {
  Trained trained;
  std::string text = trained.text();
  const std::size_t at = text.find("\"loss\":") + 7;
  text[at] = text[at] == '9' ? '8' : '9';
  write(trained.log, text);
  CHECK_THROWS_WITH_AS(train(trained.corpus, trained.options),
                       doctest::Contains("the log is damaged"), Error);
  CHECK_THROWS_WITH_AS(read_train(trained.options.folder), doctest::Contains("the log is damaged"),
                       Error);
}

TEST_CASE("a log of an earlier version is read, and it is said") {
  Trained trained;
  const std::string old = testing::without_sums(trained.text());
  write(trained.log, old);
  CHECK(read_train(trained.options.folder).runs[0].remark == train_room::kNoSums);
  CHECK(train(trained.corpus, trained.options)[0].remark == train_room::kNoSums);
  // One that was stopped goes on as it was.
  write(trained.log, old.substr(0, old.size() / 2));
  CHECK(train(trained.corpus, trained.options)[0].remark == train_room::kNoSums);
  CHECK(trained.text() == old);
}

TEST_CASE("a log, a checkpoint and a corpus are regular files") {
  Trained trained;
  const auto refuses = [&](const fs::path& path, const std::string& why) {
    CAPTURE(path);
    CAPTURE(why);
    CHECK_THROWS_WITH_AS(train(trained.corpus, trained.options), doctest::Contains(why.c_str()),
                         Error);
    if (path.extension() != ".checkpoint")
      CHECK_THROWS_WITH_AS(read_train(trained.options.folder), doctest::Contains(why.c_str()),
                           Error);
  };
  const std::string log = trained.text();
  const fs::path checkpoint = trained.folder.path / "pre-1-seed0.checkpoint";
  const fs::path corpus = trained.folder.path / "corpus.json";
  for (const fs::path& path : {trained.log, checkpoint, corpus}) {
    const std::string good = text_of(path);
    // A run that is not finished reads its checkpoint.
    if (path == checkpoint) write(trained.log, log.substr(0, log.size() / 2));
    for (const char* device : {"/dev/zero", "/dev/full", "/dev/urandom"}) {
      fs::remove(path);
      fs::create_symlink(device, path);
      refuses(path, "a device is not a ");
    }
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    refuses(path, "a pipe is not a ");
    fs::remove(path);
    write(path, "");
    fs::resize_file(path, std::uintmax_t{1} << 40);
    refuses(path, path == checkpoint ? "the checkpoint is damaged" : "may have at most");
    fs::remove(path);
    if (path != checkpoint) write(path, good);
  }
}

}  // namespace scalecalc
