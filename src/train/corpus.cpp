#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/text.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/train.hpp"
#include "tensor/draw.hpp"
#include "train/grammar.hpp"
#include "train/hash.hpp"
#include "train/texts.hpp"
#include "train/tokenizer.hpp"

namespace scalecalc {
namespace {

constexpr std::int64_t kFewestTokens = 100, kMostTokens = 100'000'000, kMostWords = 1'000'000;
constexpr std::size_t kValidationShare = 10;
constexpr const char* kUnknown = "<unk>";
constexpr const char* kEndOfLine = "<eos>";
constexpr const char* kOwnText = "the user's own text";

std::size_t validation_begin(std::size_t tokens) {
  return std::min(tokens - tokens / kValidationShare, tokens - 1);
}

/// Splits the ids and measures them.
void finish(Corpus& corpus, std::vector<std::int32_t> ids) {
  const auto split = static_cast<std::ptrdiff_t>(validation_begin(ids.size()));
  corpus.fingerprint = train_room::hash(ids.data(), ids.size() * sizeof ids.front());
  corpus.validation.assign(ids.begin() + split, ids.end());
  ids.resize(static_cast<std::size_t>(split));
  corpus.train = std::move(ids);
  std::vector<double> counts(corpus.words.size(), 0.0);
  for (const std::int32_t id : corpus.train) counts[static_cast<std::size_t>(id)] += 1.0;
  for (const double count : counts) {
    const double p = count / static_cast<double>(corpus.train.size());
    if (p > 0.0) corpus.unigram_entropy -= p * std::log(p);
    corpus.collision += p * p;
  }
}

/// use(word, where it begins).
template <class Use>
void each_word(std::string_view text, const Use& use) {
  constexpr std::string_view kSpace = " \t\r\f\v\n";
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') use(std::string_view(kEndOfLine), at);
    if (kSpace.find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    use(text.substr(at, end - at), at);
    at = end;
  }
}

std::vector<std::int32_t> words_of(std::string_view text, std::int64_t vocab, Corpus& corpus) {
  std::unordered_map<std::string_view, std::int64_t> counts;
  std::size_t tokens = 0;
  each_word(text, [&](std::string_view word, std::size_t) {
    ++counts[word];
    ++tokens;
  });
  std::vector<std::pair<std::string_view, std::int64_t>> order(counts.begin(), counts.end());
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  corpus.words = {kUnknown};
  std::unordered_map<std::string_view, std::int32_t> ids = {{kUnknown, 0}};
  for (const auto& [word, count] : order) {
    if (static_cast<std::int64_t>(corpus.words.size()) == vocab) break;
    if (!ids.emplace(word, static_cast<std::int32_t>(corpus.words.size())).second) continue;
    corpus.words.emplace_back(word);
  }
  std::vector<std::int32_t> out;
  out.reserve(tokens);
  const std::size_t split = validation_begin(tokens);
  std::size_t bytes = 0, unknown = 0;  // of validation
  each_word(text, [&](std::string_view word, std::size_t at) {
    const auto found = ids.find(word);
    if (out.size() == split) bytes = text.size() - at;
    out.push_back(found == ids.end() ? 0 : found->second);
    if (out.size() > split && out.back() == 0) ++unknown;
  });
  if (out.empty()) return out;
  const auto count = static_cast<double>(out.size() - split);
  corpus.bytes_per_token = static_cast<double>(bytes) / count;
  corpus.unknown = static_cast<double>(unknown) / count;
  return out;
}

std::vector<std::int32_t> bytes_of(std::string_view text, Corpus& corpus) {
  corpus.level = TokenLevel::byte;
  for (int byte = 0; byte < 256; ++byte) corpus.words.push_back(fmt::format("\\x{:02x}", byte));
  std::vector<std::int32_t> out;
  out.reserve(text.size());
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  corpus.bytes_per_token = 1;
  return out;
}

/// Of a text that is read.
void check_length(std::size_t tokens, const std::string& name) {
  if (static_cast<std::int64_t>(tokens) >= kFewestTokens) return;
  throw Error(ErrorKind::input, fmt::format("a text of {} tokens", tokens), name,
              fmt::format("at least {} are needed", kFewestTokens));
}

void check_tokens(std::int64_t tokens) {
  if (tokens >= kFewestTokens && tokens <= kMostTokens) return;
  throw Error(ErrorKind::input, fmt::format("a text of {} tokens", tokens), "corpus",
              fmt::format("use {} to {}", kFewestTokens, kMostTokens));
}

}  // namespace

Corpus generated_corpus(std::int64_t tokens, std::uint64_t seed) {
  check_tokens(tokens);
  const train_room::Grammar grammar;
  Corpus corpus;
  corpus.name = "generated";
  corpus.words = grammar.words();
  corpus.entropy = grammar.entropy();
  corpus.description = fmt::format(
      "{} tokens of a grammar of {} words with agreement of subject and verb, drawn by Philox",
      tokens, corpus.words.size());
  corpus.license = "CC0-1.0";
  finish(corpus, grammar.text(tokens, seed));
  return corpus;
}

Corpus symbol_corpus(TrainTask task, std::int64_t tokens, std::int64_t symbols,
                     std::uint64_t seed) {
  check_tokens(tokens);
  if (symbols < 2 || symbols > kMostWords)
    throw Error(ErrorKind::input, fmt::format("{} symbols", symbols), "corpus",
                fmt::format("use 2 to {}", kMostWords));
  Corpus corpus;
  corpus.task = task;
  corpus.name = train_task_names().at(static_cast<std::size_t>(task));
  corpus.words = {"<start>"};
  for (std::int64_t k = 1; k <= symbols; ++k) corpus.words.push_back(std::to_string(k));
  corpus.entropy = 0;
  corpus.description = fmt::format("{} of {} symbols, drawn by Philox", tokens, symbols);
  corpus.license = "CC0-1.0";
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
  tensor::fill_indices({seed, tensor::stream_id("train.symbols")}, symbols, tokens, ids.data());
  for (std::int32_t& id : ids) ++id;
  finish(corpus, std::move(ids));
  return corpus;
}

Corpus in_words_of(const Corpus& other, Corpus corpus) {
  const std::string name = base::shortened(corpus.name);
  if (corpus.level != other.level ||
      (corpus.task == TrainTask::next) != (other.task == TrainTask::next))
    throw Error(ErrorKind::input, "tokens of another kind than those that were trained on", name,
                "give the same --level and --task");
  if (corpus.tokenizer != other.tokenizer)
    throw Error(ErrorKind::input, "tokens of another tokenizer than those that were trained on",
                name, "give --tokenizer the same file");
  std::unordered_map<std::string_view, std::int32_t> ids;
  for (std::size_t id = 0; id < other.words.size(); ++id)
    ids.emplace(other.words[id], static_cast<std::int32_t>(id));
  constexpr std::int32_t kNone = -1;
  const auto id_of = [&ids](std::string_view word, std::int32_t otherwise) {
    const auto found = ids.find(word);
    return found == ids.end() ? otherwise : found->second;
  };
  const std::int32_t unknown = id_of(kUnknown, kNone);
  std::vector<std::int32_t> there;
  for (const std::string& word : corpus.words) there.push_back(id_of(word, unknown));
  std::vector<std::int32_t> all = std::move(corpus.train);
  const std::size_t split = all.size();
  all.insert(all.end(), corpus.validation.begin(), corpus.validation.end());
  std::size_t missing = 0, missing_at_end = 0;  // the latter of validation
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto id = static_cast<std::size_t>(all[i]);
    all[i] = there.at(id);
    if (all[i] == kNone)
      throw Error(ErrorKind::input,
                  fmt::format("the word '{}' is not among the {} that were trained on, nor is {}",
                              base::shortened(corpus.words[id]), other.words.size(), kUnknown),
                  name, "use a text of those words, or train the first on --text too");
    if (all[i] == unknown) ++(i < split ? missing : missing_at_end);
  }
  if (missing == split)
    throw Error(ErrorKind::input, "no word of the text is among those that were trained on", name,
                "use a text of those words");
  corpus.unknown =
      static_cast<double>(missing_at_end) / static_cast<double>(corpus.validation.size());
  if (missing + missing_at_end > 0) corpus.entropy.reset();
  corpus.words = other.words;
  corpus.unigram_entropy = corpus.collision = 0;
  finish(corpus, std::move(all));
  return corpus;
}

double perplexity_per_byte(double loss, double bytes_per_token) {
  return bytes_per_token > 0 ? std::exp(loss / bytes_per_token) : std::nan("");
}

Corpus read_corpus(const std::vector<std::string>& paths, TokenLevel level, std::int64_t vocab) {
  if (vocab < 2 || vocab > kMostWords) {
    throw Error(ErrorKind::input, fmt::format("a vocabulary of {} words", vocab), "corpus",
                fmt::format("use 2 to {}", kMostWords));
  }
  const std::string text = train_room::read_texts(paths);
  Corpus corpus;
  corpus.name = train_room::name_of_texts(paths);
  std::vector<std::int32_t> ids =
      level == TokenLevel::byte ? bytes_of(text, corpus) : words_of(text, vocab, corpus);
  check_length(ids.size(), corpus.name);
  corpus.description = fmt::format("{} {}", ids.size(),
                                   level == TokenLevel::byte ? "bytes" : "words and ends of lines");
  corpus.license = kOwnText;
  finish(corpus, std::move(ids));
  return corpus;
}

Corpus tokenized_corpus(const std::vector<std::string>& paths, const std::string& tokenizer) {
  train_room::Tokenizer encoder(train_room::read_tokenizer(tokenizer));
  const std::string text = train_room::read_texts(paths);
  Corpus corpus;
  corpus.name = train_room::name_of_texts(paths);
  corpus.level = TokenLevel::bpe;
  corpus.tokenizer = encoder.fingerprint();
  train_room::Tokenizer::Encoded encoded = encoder.encode(text, corpus.name);
  const std::size_t tokens = encoded.ids.size();
  check_length(tokens, corpus.name);
  corpus.words = encoder.file().words;
  double bytes = 0;
  for (std::size_t i = validation_begin(tokens); i < tokens; ++i) bytes += encoded.bytes[i];
  corpus.bytes_per_token = bytes / static_cast<double>(tokens - validation_begin(tokens));
  corpus.description = fmt::format("{} tokens of {} in {} bytes", tokens,
                                   train_room::name_of_texts({tokenizer}), text.size());
  corpus.license = kOwnText;
  finish(corpus, std::move(encoded.ids));
  return corpus;
}

}  // namespace scalecalc
