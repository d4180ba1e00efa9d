#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "scalecalc/error.hpp"
#include "scalecalc/train.hpp"
#include "temporary_folder.hpp"
#include "tolerance.hpp"

namespace scalecalc {
namespace {

using namespace testing;

Corpus read(const std::string& text, TokenLevel level, std::int64_t vocab = 10000) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "text.txt";
  std::ofstream(path, std::ios::binary) << text;
  return read_corpus({path}, level, vocab);
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("corpus: the generated text's entropy is between what context and what words leave") {
  const Corpus corpus = generated_corpus(400000);
  CHECK(corpus.train.size() == 360000);
  CHECK(corpus.validation.size() == 40000);
  REQUIRE(corpus.entropy.has_value());
  // Entropies of n-grams, H(w_n | w_1 .. w_n-1), fall with n towards that of the text. The plug-in
  // estimate is low by (contexts * words)/(2 tokens), at most 60 * 60 * 60/(2 * 360000) = 0.3.
  std::map<std::vector<std::int32_t>, double> pairs, triples;
  const auto& text = corpus.train;
  for (std::size_t i = 2; i < text.size(); ++i) {
    ++pairs[{text[i - 1], text[i]}];
    ++triples[{text[i - 2], text[i - 1], text[i]}];
  }
  const auto entropy = [&text](const auto& counts) {
    double sum = 0.0;
    for (const auto& [key, count] : counts) {
      const double p = count / static_cast<double>(text.size() - 2);
      sum -= p * std::log(p);
    }
    return sum;
  };
  const double of_pairs = entropy(pairs) - corpus.unigram_entropy;
  const double of_triples = entropy(triples) - entropy(pairs);
  CHECK(of_pairs < 0.95 * corpus.unigram_entropy);
  CHECK(*corpus.entropy < of_pairs);
  CHECK(of_triples < of_pairs);
  // Triples of a short text are too few for their entropy: nats that it lacks.
  CHECK(std::fabs(*corpus.entropy - of_triples) < 0.3);
}

TEST_CASE("corpus: the same seed, the same text; a longer one begins alike") {
  const Corpus corpus = generated_corpus(1000, 3), longer = generated_corpus(5000, 3);
  CHECK(corpus.train == generated_corpus(1000, 3).train);
  CHECK(corpus.fingerprint == generated_corpus(1000, 3).fingerprint);
  CHECK(corpus.fingerprint != generated_corpus(1000, 4).fingerprint);
  CHECK(std::equal(corpus.train.begin(), corpus.train.end(), longer.train.begin()));
  CHECK_THROWS_AS(generated_corpus(99), Error);
}

TEST_CASE("corpus: words by frequency, the rest unknown, lines end") {
  const Corpus corpus = read(repeated("a b a\nc a\tb\n", 50), TokenLevel::word, 4);
  CHECK(corpus.words == std::vector<std::string>{"<unk>", "a", "<eos>", "b"});
  CHECK(std::vector<std::int32_t>(corpus.train.begin(), corpus.train.begin() + 8) ==
        std::vector<std::int32_t>{1, 3, 1, 2, 0, 1, 3, 2});
  CHECK(corpus.train.size() + corpus.validation.size() == 400);
  // a 3/8, <eos> 1/4, b 1/4, c 1/8, over whole periods of the training text.
  CHECK(corpus.train.size() % 8 == 0);
  CHECK(corpus.collision == rounded(9.0 / 64 + 2.0 / 16 + 1.0 / 64, 8));
  CHECK_FALSE(corpus.entropy.has_value());
}

TEST_CASE("corpus: files and folders one after the other, and bytes a token") {
  namespace fs = std::filesystem;
  const testing::TemporaryFolder folder;
  fs::create_directories(folder.path / "texts" / "more");
  fs::create_directories(folder.path / "texts" / ".git");
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  };
  write("texts/b.txt", repeated("yy z\n", 30));
  write("texts/more/c.txt", repeated("w\n", 30));
  write("texts/.git/config", "hidden");
  write("texts/.hidden", "hidden");
  write("a.txt", "first");  // without an end of its line
  fs::create_directory_symlink(folder.path / "texts", folder.path / "texts" / "more" / "link");
  const Corpus corpus =
      read_corpus({folder / "a.txt", (folder.path / "texts").string()}, TokenLevel::word);
  CHECK(corpus.name == "a.txt and 1 more");
  const auto word = [&](std::size_t at) {
    return corpus.words[static_cast<std::size_t>(corpus.train.at(at))];
  };
  CHECK(word(0) == "first");
  CHECK(word(1) == "<eos>");
  CHECK(word(2) == "yy");
  CHECK(corpus.train.size() + corpus.validation.size() == 2 + 3 * 30 + 2 * 30);
  // All of validation are w and ends of lines: two bytes for two tokens.
  CHECK(corpus.bytes_per_token == 1);
  CHECK(corpus.unknown == 0);
  CHECK(perplexity_per_byte(std::log(8.0), 3) == rounded(2, 8));
  CHECK(std::isnan(perplexity_per_byte(1, 0)));
  CHECK(read_corpus({(folder.path / "texts/").string()}, TokenLevel::byte).name == "texts");
  fs::create_directories(folder.path / "empty");
  CHECK_THROWS_WITH_AS(read_corpus({(folder.path / "empty").string()}, TokenLevel::word),
                       doctest::Contains("no files in the folder"), Error);
}

TEST_CASE("corpus: of a word its white space counts, and what is unknown is told") {
  const Corpus corpus = read(repeated("abc  de\n", 100), TokenLevel::word, 3);
  // Eight bytes for three tokens, of which one of the two words is unknown; a tenth is validated.
  CHECK(corpus.bytes_per_token == rounded(8.0 / 3, 8));
  CHECK(corpus.unknown == rounded(1.0 / 3, 8));
  CHECK(read(repeated("abc", 100), TokenLevel::byte).bytes_per_token == 1);
  CHECK(generated_corpus(1000).bytes_per_token == 0);
}

TEST_CASE("corpus: bytes are their own ids") {
  const Corpus corpus = read(repeated("z\xff", 100), TokenLevel::byte);
  CHECK(corpus.vocab() == 256);
  CHECK(corpus.train[0] == 'z');
  CHECK(corpus.train[1] == 255);
  // A sum over 256 bytes.
  CHECK(corpus.unigram_entropy == rounded(std::log(2.0), 300));
}

TEST_CASE("corpus: symbols of a task, all alike, behind the one that begins") {
  const Corpus corpus = symbol_corpus(TrainTask::copy, 20000, 7);
  CHECK(corpus.vocab() == 8);
  CHECK(corpus.words[0] == "<start>");
  CHECK(corpus.entropy == 0);
  std::vector<int> counts(8);
  for (const std::int32_t id : corpus.train) ++counts.at(static_cast<std::size_t>(id));
  CHECK(counts[0] == 0);
  const double each = static_cast<double>(corpus.train.size()) / 7;
  // Six standard deviations of a binomial count.
  for (int id = 1; id <= 7; ++id) CHECK(std::fabs(counts[id] - each) < 6 * std::sqrt(each));
  CHECK(symbol_corpus(TrainTask::reverse, 20000, 7).train == corpus.train);
  CHECK_THROWS_AS(symbol_corpus(TrainTask::copy, 99, 7), Error);
  CHECK_THROWS_AS(symbol_corpus(TrainTask::copy, 1000, 1), Error);
  CHECK_THROWS_AS(train_task_from("copi"), Error);
}

TEST_CASE("corpus: what is no text is an error") {
  CHECK_THROWS_AS(read_corpus({"/no/such/text"}, TokenLevel::word), Error);
  CHECK_THROWS_AS(read_corpus({"/"}, TokenLevel::word), Error);
  CHECK_THROWS_AS(read("too short", TokenLevel::word), Error);
  CHECK_THROWS_AS(token_level_from("words"), Error);
}

}  // namespace scalecalc
