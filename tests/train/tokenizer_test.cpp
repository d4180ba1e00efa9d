#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "scalecalc/error.hpp"
#include "scalecalc/train.hpp"
#include "temporary_folder.hpp"
#include "tolerance.hpp"
#include "train/pre_tokens.hpp"
#include "train/tokenizer.hpp"
#include "train/tokenizer_data.hpp"

/// Tokens of a tokenizer.json, as the library that made it has them.
namespace scalecalc {
namespace {

using train_room::Tokenizer;

std::string tokenizer_at(const testing::TemporaryFolder& folder, const std::string& json) {
  std::ofstream(folder.path / "tokenizer.json", std::ios::binary) << json;
  return folder / "tokenizer.json";
}

Tokenizer tokenizer_of(const std::string& json) {
  const testing::TemporaryFolder folder;
  return Tokenizer(train_room::read_tokenizer(tokenizer_at(folder, json)));
}

std::string with(std::string json, const std::string& before, const std::string& after) {
  const std::size_t at = json.find(before);
  REQUIRE(at != std::string::npos);
  return json.replace(at, before.size(), after);
}

std::string said_of(const std::string& json) {
  try {
    tokenizer_of(json);
    return "accepted";
  } catch (const Error& error) {
    CHECK_FALSE(error.hint().empty());
    return error.message();
  }
}

}  // namespace

TEST_CASE("tokenizer: the ids of the library, and the bytes of each") {
  for (const testing::TokenizerCase& one : testing::tokenizer_cases()) {
    Tokenizer tokenizer = tokenizer_of(one.json);
    for (int twice = 0; twice < 2; ++twice) {  // words are kept the first time
      for (const auto& [text, ids] : one.texts) {
        CAPTURE(text);
        const Tokenizer::Encoded encoded = tokenizer.encode(text, "text");
        CHECK(encoded.ids == ids);
        CHECK(encoded.bytes.size() == ids.size());
        CHECK(std::accumulate(encoded.bytes.begin(), encoded.bytes.end(), std::size_t{0}) ==
              text.size());
      }
    }
  }
}

TEST_CASE("tokenizer: a text in its tokens, and perplexity per byte") {
  const testing::TemporaryFolder folder;
  const std::string json = testing::tokenizer_cases()[0].json;
  const std::string path = tokenizer_at(folder, json);
  std::string text;
  // The, the and eight tokens of one byte: ten tokens of 14 bytes a line.
  for (int i = 0; i < 100; ++i) text += "The the !%&=@\n";
  std::ofstream(folder.path / "text.txt", std::ios::binary) << text;
  const Corpus corpus = tokenized_corpus({folder / "text.txt"}, path);
  CHECK(corpus.level == TokenLevel::bpe);
  CHECK(corpus.vocab() == 298);
  CHECK(corpus.unknown == 0);
  const double tokens = static_cast<double>(corpus.train.size() + corpus.validation.size());
  CHECK(std::fmod(tokens, 100) == 0);
  // A tenth of the tokens are whole lines.
  CHECK(corpus.bytes_per_token == testing::rounded(static_cast<double>(text.size()) / tokens, 8));
  const Corpus again = in_words_of(corpus, corpus);
  CHECK(again.train == corpus.train);
  // The same words with one pair less are other tokens.
  const std::string other = with(json, "[\"T\",\"he\"],", "");
  const Corpus changed = tokenized_corpus({folder / "text.txt"}, tokenizer_at(folder, other));
  CHECK(changed.words == corpus.words);
  CHECK(changed.tokenizer != corpus.tokenizer);
  CHECK_THROWS_WITH_AS(in_words_of(corpus, changed), doctest::Contains("another tokenizer"), Error);
  std::ofstream(folder.path / "text.txt", std::ios::binary) << text << "\xff";
  CHECK_THROWS_WITH_AS(tokenized_corpus({folder / "text.txt"}, path),
                       doctest::Contains("not UTF-8 at byte 1400"), Error);
}

TEST_CASE("tokenizer: what would change tokens and is not read is refused by its name") {
  const std::string json = testing::tokenizer_cases()[0].json;
  REQUIRE(said_of(json) == "accepted");
  const auto refused = [&json](const std::string& before, const std::string& after) {
    return said_of(with(json, before, after));
  };
  const std::string cannot = " of the tokenizer cannot be used: ";
  CHECK(refused("\"truncation\":null", "\"truncation\":{\"max_length\":512}") ==
        "truncation" + cannot + "it cuts or fills texts");
  CHECK(refused("\"normalizer\":null", "\"normalizer\":{\"type\":\"NFC\"}") ==
        "normalizer" + cannot + "it is NFC");
  CHECK(refused("\"normalizer\":null",
                "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[]}") == "accepted");
  CHECK(refused("\"type\":\"ByteLevel\"", "\"type\":\"Whitespace\"") ==
        "pre_tokenizer" + cannot + "it is Whitespace");
  CHECK(refused("\"use_regex\":true", "\"use_regex\":true,\"new\":1") ==
        "pre_tokenizer.new" + cannot + "it is not known");
  CHECK(refused("\"type\":\"BPE\"", "\"type\":\"Unigram\"") ==
        "model.type" + cannot + "it is Unigram");
  CHECK(refused("\"dropout\":null", "\"dropout\":0.1") ==
        "model.dropout" + cannot + "tokens would be drawn");
  CHECK(refused("\"byte_fallback\":false", "\"byte_fallback\":true") ==
        "model.byte_fallback" + cannot + "bytes are characters here");
  CHECK(refused("\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"</w>\"") ==
        "model.end_of_word_suffix" + cannot + "words carry no marks here");
  CHECK(refused("\"single_word\":false", "\"single_word\":true") ==
        "added_tokens[0].single_word" + cannot + "tokens are found within words here");
  CHECK(refused("{\"id\":296,", "{\"id\":300,") ==
        "added_tokens[2].id" + cannot + "it is 300, and its token has 296 there");
  CHECK(refused("[\"h\",\"e\"]", "[\"h\",\"zz\"]") ==
        "model.merges" + cannot + "'zz' is not in model.vocab");
  CHECK(refused("[\"h\",\"e\"]", "\"h e\"") == "accepted");
  CHECK(refused("[\"h\",\"e\"]", "\"he\"") ==
        "model.merges" + cannot + "one of them is no pair of tokens");
  CHECK(refused("\"!\":1,", "\"!\":-1,").find("the id of '!' is not one of 0 to 295") !=
        std::string::npos);
  CHECK(said_of("[]") == "this is no tokenizer file");
  CHECK(said_of("{") == "this is no tokenizer file");
  CHECK(said_of("{\"model\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}") ==
        "this is no tokenizer file");
  CHECK(said_of("{}") == "pre_tokenizer" + cannot + "it is missing");
  // A byte that no token stands for.
  CHECK(refused("\"!\":1,", "\"!!!\":1,") == "model.vocab of the tokenizer has no byte 33");
}

TEST_CASE("tokenizer: long words take no longer than their letters, and have an end") {
  Tokenizer tokenizer = tokenizer_of(testing::tokenizer_cases()[0].json);
  const std::string letters(1'000'000, 'a');  // of pairs of pairs
  CHECK(tokenizer.encode(letters, "text").ids.size() == 500'000);
  CHECK_THROWS_WITH_AS(tokenizer.encode(std::string(5'000'000, 'a'), "text"),
                       doctest::Contains("a word of 5000000 bytes"), Error);
}

TEST_CASE("tokenizer: what is not UTF-8 is found") {
  using train_room::not_utf8_at;
  CHECK(not_utf8_at("\xc3\xa9\xf0\x9f\x98\x80") == 6);
  for (const char* wrong : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
                            "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xf0\x9f\x98"})
    CHECK(not_utf8_at(std::string("a") + wrong) == 1);
}

}  // namespace scalecalc
