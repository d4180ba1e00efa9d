#include "train/vocabulary_file.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/file_writer.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "scalecalc/error.hpp"
#include "train/files.hpp"
#include "train/hash.hpp"
#include "train/records.hpp"
#include "train/whole_number.hpp"

namespace scalecalc::train_room {
namespace {

constexpr char kMakeAgain[] = "remove it; the same training with --keep-weights writes it again";
constexpr std::uint64_t kMostVocabularyBytes = std::uint64_t{1} << 30;

std::string vocabulary_path(const std::string& folder) {
  return (std::filesystem::path(folder) / "vocabulary.json").string();
}

base::InputKind input_kind() {
  return {"vocabulary", kMakeAgain, kMostVocabularyBytes};
}

/// A text's words may be any bytes, strings of JSON have characters: each byte is the character of
/// that number.
std::string characters_of(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | (byte >> 6));
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

/// Nothing where a character is above 255.
std::optional<std::string> bytes_of_characters(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      bytes += text[i];
      continue;
    }
    if ((lead & 0xFC) != 0xC0 || ++i == text.size()) return std::nullopt;
    bytes += static_cast<char>((lead << 6) | (static_cast<unsigned char>(text[i]) & 0x3F));
  }
  return bytes;
}

std::uint64_t sum_of(const Json& json) {
  const std::string text = json.dump();
  return hash(text.data(), text.size());
}

Json vocabulary_json(const Corpus& corpus, std::int64_t sequences, std::int64_t length) {
  Json json;
  json["format"] = 1;
  json["name"] = corpus.name;
  json["fingerprint"] = corpus.fingerprint;
  json["task"] = train_task_names().at(static_cast<std::size_t>(corpus.task));
  json["level"] = token_level_names().at(static_cast<std::size_t>(corpus.level));
  if (corpus.tokenizer != 0) json["tokenizer"] = corpus.tokenizer;
  json["sequences"] = sequences;
  json["words"] = Json::array();
  for (const std::string& word : corpus.words) json["words"].push_back(characters_of(word));
  // Of the last sequence the token that follows, too; that they begin anew where the text ends
  // stays as it is where all of it is kept.
  const std::int64_t most = static_cast<std::int64_t>(corpus.validation.size());
  const std::int64_t kept = sequences <= most / length ? sequences * length + 1 : most;
  json["validation"] = std::vector<std::int32_t>(corpus.validation.begin(),
                                                 corpus.validation.begin() + std::min(kept, most));
  json["sum"] = sum_of(json);
  return json;
}

Vocabulary vocabulary_from(Json json, std::uint64_t fingerprint, const std::string& path) {
  const auto wrong = [&path](const char* why) {
    return Error(ErrorKind::input, why, base::shortened(path), kMakeAgain);
  };
  constexpr const char* kIsDamaged = "the vocabulary is damaged";
  if (!json.is_object() || !json.contains("sum")) throw wrong(kIsDamaged);
  Vocabulary vocabulary;
  Corpus& corpus = vocabulary.corpus;
  try {
    const auto sum = whole<std::uint64_t>(json.at("sum"));
    json.erase("sum");
    if (sum != sum_of(json)) throw wrong(kIsDamaged);
    if (whole<std::uint64_t>(json.at("fingerprint")) != fingerprint)
      throw wrong("the vocabulary is of another text than the runs");
    corpus.fingerprint = fingerprint;
    corpus.name = json.at("name").get<std::string>();
    corpus.task = train_task_from(json.at("task").get<std::string>(), base::shortened(path));
    corpus.level = token_level_from(json.at("level").get<std::string>(), base::shortened(path));
    if (json.contains("tokenizer")) corpus.tokenizer = whole<std::uint64_t>(json.at("tokenizer"));
    vocabulary.validation_sequences = whole<std::int64_t>(json.at("sequences"));
    for (const Json& word : json.at("words")) {
      std::optional<std::string> bytes = bytes_of_characters(word.get<std::string>());
      if (!bytes) throw wrong(kIsDamaged);
      corpus.words.push_back(std::move(*bytes));
    }
    for (const Json& id : json.at("validation"))
      corpus.validation.push_back(whole<std::int32_t>(id));
  } catch (const Json::exception&) {
    throw wrong(kIsDamaged);
  }
  const auto is_word = [&corpus](std::int32_t id) { return id >= 0 && id < corpus.vocab(); };
  if (vocabulary.validation_sequences < 1 || !std::ranges::all_of(corpus.validation, is_word))
    throw wrong(kIsDamaged);
  corpus.train = corpus.validation;
  return vocabulary;
}

}  // namespace

void save_vocabulary(const std::string& folder, const Corpus& corpus, std::int64_t sequences,
                     std::int64_t length) {
  const std::string path = vocabulary_path(folder);
  const std::string text = vocabulary_json(corpus, sequences, length).dump() + "\n";
  const auto is_there = [&] {
    std::error_code none;
    return std::filesystem::exists(path, none) && base::read_input(path, input_kind()) == text;
  };
  if (is_there()) return;
  try {
    base::FileWriter file(path, experiment_messages("cannot write the vocabulary"),
                          base::Durability::on_disk);
    file.write(text);
    file.commit();
  } catch (const Error&) {
    if (!is_there()) throw;  // else another process has written the same meanwhile
  }
}

Vocabulary load_vocabulary(const std::string& folder, std::uint64_t fingerprint) {
  const std::string path = vocabulary_path(folder);
  std::error_code none;
  if (!std::filesystem::exists(path, none))
    throw Error(ErrorKind::input, "the folder keeps no weights", base::shortened(folder),
                "the same training with --keep-weights makes them");
  return vocabulary_from(read_json(base::read_input(path, input_kind())), fingerprint, path);
}

}  // namespace scalecalc::train_room
