#include "train/corpus_file.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file_writer.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "scalecalc/error.hpp"
#include "train/files.hpp"
#include "train/records.hpp"
#include "train/whole_number.hpp"

namespace scalecalc::train_room {
namespace {

constexpr char kRemove[] = "remove it; the same training writes it again";

std::string path_of(const std::string& folder) {
  return (std::filesystem::path(folder) / "corpus.json").string();
}

std::string read_file(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return {};
  return base::read_input(path, {"description of a corpus", kRemove, std::uint64_t{1} << 20});
}

std::string text_of(const Corpus& corpus) {
  Json json;
  json["format"] = 1;
  json["name"] = corpus.name;
  json["description"] = corpus.description;
  json["license"] = corpus.license;
  json["tokens"] = corpus.train.size() + corpus.validation.size();
  json["vocab"] = corpus.vocab();
  json["fingerprint"] = corpus.fingerprint;
  json["unigram_entropy"] = corpus.unigram_entropy;
  if (corpus.bytes_per_token > 0) json["bytes_per_token"] = corpus.bytes_per_token;
  if (corpus.unknown > 0) json["unknown"] = corpus.unknown;
  json["entropy"] = corpus.entropy ? Json(*corpus.entropy) : Json();
  return json.dump(2) + "\n";
}

}  // namespace

void save_corpus(const std::string& folder, const Corpus& corpus) {
  const std::string path = path_of(folder), text = text_of(corpus);
  if (read_file(path) == text) return;
  try {
    base::FileWriter file(path, experiment_messages("cannot write the corpus"),
                          base::Durability::on_disk);
    file.write(text);
    file.commit();
  } catch (const Error&) {
    if (read_file(path) != text) throw;  // else another process has written the same meanwhile
  }
}

void load_corpus(const std::string& folder, std::uint64_t fingerprint, TrainFolder& into) {
  const std::string path = path_of(folder);
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return;
  const Json json = read_json(read_file(path));
  try {
    if (!json.is_object()) throw Error(ErrorKind::input, "");
    if (whole<std::uint64_t>(json.at("fingerprint")) != fingerprint) return;
    into.description = json.at("description").get<std::string>();
    into.license = json.at("license").get<std::string>();
    into.unigram_entropy = json.at("unigram_entropy").get<double>();
    // Of earlier versions, and of what is no text, there is none.
    into.bytes_per_token = json.value("bytes_per_token", 0.0);
    into.unknown = json.value("unknown", 0.0);
    if (!json.at("entropy").is_null()) into.entropy = json.at("entropy").get<double>();
  } catch (const std::exception&) {
    throw Error(ErrorKind::input, "the file is damaged", base::shortened(path), kRemove);
  }
}

}  // namespace scalecalc::train_room
