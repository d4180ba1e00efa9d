#include "train/tokenizer_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::train_room {
namespace {

/// With its keys in order: those of a vocabulary are many.
using Object = nlohmann::json;

constexpr std::uint64_t kMostFileBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostIds = 1'000'000, kMostAdded = 10'000, kMostAddedBytes = 128;
constexpr char kReads[] = "byte-level BPE as GPT-2 has it is read";

class TokenizerReader {
 public:
  explicit TokenizerReader(const std::string& path) { file_.path = path; }

  TokenizerFile read() {
    const Object root = parsed();
    refuse_others(root, "",
                  {"version", "truncation", "padding", "added_tokens", "normalizer",
                   "pre_tokenizer", "post_processor", "decoder", "model"});
    // Neither what is put around a text nor the way back changes the tokens of a text.
    for (const char* field : {"truncation", "padding"})
      if (!is_null(root, field)) refuse(field, "it cuts or fills texts", "set it to null");
    if (!is_null(root, "normalizer") && !is_empty_sequence(root.at("normalizer")))
      refuse("normalizer", "it is " + type_of(root.at("normalizer")));
    read_pre_tokenizer(root);
    if (!root.contains("model") || !root.at("model").is_object()) refuse("model", "it is missing");
    read_model(root.at("model"));
    read_added(root);
    return std::move(file_);
  }

 private:
  [[noreturn]] void refuse(const std::string& field, const std::string& why,
                           const std::string& hint = kReads) const {
    throw Error(ErrorKind::input, fmt::format("{} of the tokenizer cannot be used: {}", field, why),
                base::shortened(file_.path), hint);
  }

  Object parsed() const {
    const std::string text = base::read_input(
        file_.path, {"tokenizer file", "give a tokenizer.json of Hugging Face", kMostFileBytes});
    constexpr int kDeepest = 32;
    int depth = 0;
    Object root = Object::parse(
        text,
        [&depth](int nested, Object::parse_event_t, Object&) {
          depth = std::max(depth, nested);
          return nested <= kDeepest;
        },
        false);
    if (depth > kDeepest || !root.is_object())
      throw Error(ErrorKind::input, "this is no tokenizer file", base::shortened(file_.path),
                  "give a tokenizer.json of Hugging Face");
    return root;
  }

  static bool is_null(const Object& object, const char* key) {
    return !object.contains(key) || object.at(key).is_null();
  }

  /// What an object says it is, for messages.
  static std::string type_of(const Object& object) {
    if (!object.is_object() || !object.contains("type") || !object.at("type").is_string())
      return "of no known type";
    return base::shortened(object.at("type").get<std::string>());
  }

  static bool is_empty_sequence(const Object& object) {
    return type_of(object) == "Sequence" && object.contains("normalizers") &&
           object.at("normalizers").is_array() && object.at("normalizers").empty();
  }

  void refuse_others(const Object& object, const std::string& in,
                     const std::set<std::string>& known) const {
    for (const auto& [key, value] : object.items())
      if (!known.contains(key)) refuse(in + base::shortened(key), "it is not known");
  }

  bool flag(const Object& object, const std::string& in, const char* key, bool otherwise) const {
    if (is_null(object, key)) return otherwise;
    if (!object.at(key).is_boolean()) refuse(in + key, "it is neither true nor false");
    return object.at(key).get<bool>();
  }

  void read_pre_tokenizer(const Object& root) {
    const std::string name = "pre_tokenizer";
    if (is_null(root, "pre_tokenizer")) refuse(name, "it is missing");
    const Object* one = &root.at("pre_tokenizer");
    if (type_of(*one) == "Sequence" && one->contains("pretokenizers") &&
        one->at("pretokenizers").is_array() && one->at("pretokenizers").size() == 1)
      one = &one->at("pretokenizers").at(0);
    if (type_of(*one) != "ByteLevel") refuse(name, "it is " + type_of(*one));
    refuse_others(*one, name + ".", {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    file_.has_prefix_space = flag(*one, name + ".", "add_prefix_space", true);
    file_.has_pattern = flag(*one, name + ".", "use_regex", true);
  }

  void read_model(const Object& model) {
    if (model.contains("type") && type_of(model) != "BPE")
      refuse("model.type", "it is " + type_of(model));
    refuse_others(
        model, "model.",
        {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
         "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (!is_null(model, "dropout") && model.at("dropout") != 0)
      refuse("model.dropout", "tokens would be drawn", "set it to null");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!is_null(model, key) && model.at(key) != "")
        refuse(std::string("model.") + key, "words carry no marks here");
    if (flag(model, "model.", "byte_fallback", false))
      refuse("model.byte_fallback", "bytes are characters here");
    file_.takes_whole_words = flag(model, "model.", "ignore_merges", false);
    read_vocabulary(model);
    read_merges(model);
  }

  void read_vocabulary(const Object& model) {
    if (!model.contains("vocab") || !model.at("vocab").is_object())
      refuse("model.vocab", "it is no object");
    const Object& vocabulary = model.at("vocab");
    if (vocabulary.empty() || vocabulary.size() > kMostIds)
      refuse("model.vocab",
             fmt::format("it has {} tokens, and 1 to {} may be", vocabulary.size(), kMostIds));
    file_.words.resize(vocabulary.size());
    std::vector<bool> is_there(vocabulary.size());
    for (const auto& [word, id] : vocabulary.items()) {
      const bool is_id = id.is_number_unsigned() && id.get<std::uint64_t>() < vocabulary.size();
      if (!is_id || is_there[id.get<std::size_t>()])
        refuse("model.vocab", fmt::format("the id of '{}' is not one of 0 to {}, each once",
                                          base::shortened(word), vocabulary.size() - 1));
      is_there[id.get<std::size_t>()] = true;
      file_.words[id.get<std::size_t>()] = word;
      ids_.emplace(word, id.get<std::int32_t>());
    }
  }

  /// "a b", or ["a", "b"].
  std::array<std::string, 2> pair_of(const Object& merge) const {
    if (merge.is_array() && merge.size() == 2 && merge.at(0).is_string() && merge.at(1).is_string())
      return {merge.at(0).get<std::string>(), merge.at(1).get<std::string>()};
    if (merge.is_string()) {
      const auto text = merge.get<std::string>();
      const std::size_t space = text.find(' ');
      if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos)
        return {text.substr(0, space), text.substr(space + 1)};
    }
    refuse("model.merges", "one of them is no pair of tokens");
  }

  std::int32_t id_of(const std::string& word) const {
    const auto found = ids_.find(word);
    if (found == ids_.end())
      refuse("model.merges", fmt::format("'{}' is not in model.vocab", base::shortened(word)));
    return found->second;
  }

  void read_merges(const Object& model) {
    if (!model.contains("merges") || !model.at("merges").is_array() ||
        model.at("merges").size() > kMostIds)
      refuse("model.merges", fmt::format("it is no list of up to {} pairs", kMostIds));
    for (const Object& merge : model.at("merges")) {
      const auto [left, right] = pair_of(merge);
      file_.merges.push_back({id_of(left), id_of(right), id_of(left + right)});
    }
  }

  void read_added(const Object& root) {
    if (is_null(root, "added_tokens")) return;
    const Object& list = root.at("added_tokens");
    if (!list.is_array() || list.size() > kMostAdded)
      refuse("added_tokens", fmt::format("it is no list of up to {} tokens", kMostAdded));
    for (std::size_t i = 0; i < list.size(); ++i)
      add(list.at(i), fmt::format("added_tokens[{}]", i));
  }

  void add(const Object& json, const std::string& name) {
    if (!json.is_object() || !json.contains("content") || !json.at("content").is_string() ||
        !json.contains("id") || !json.at("id").is_number_unsigned())
      refuse(name, "it has no content and id");
    refuse_others(json, name + ".",
                  {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    if (flag(json, name + ".", "single_word", false))
      refuse(name + ".single_word", "tokens are found within words here");
    const bool is_special = flag(json, name + ".", "special", false);
    AddedToken token{
        json.at("content").get<std::string>(), 0, flag(json, name + ".", "lstrip", false),
        flag(json, name + ".", "rstrip", false), flag(json, name + ".", "normalized", !is_special)};
    if (token.content.empty() || token.content.size() > kMostAddedBytes)
      refuse(name + ".content", fmt::format("it has {} bytes, and 1 to {} may be",
                                            token.content.size(), kMostAddedBytes));
    const auto given = json.at("id").get<std::uint64_t>();
    const auto found = ids_.find(token.content);
    // The library gives a token that it has not yet the next id, whatever the file says.
    const std::size_t id =
        found == ids_.end() ? file_.words.size() : static_cast<std::size_t>(found->second);
    if (given != id)
      refuse(name + ".id", fmt::format("it is {}, and its token has {} there", given, id));
    if (found == ids_.end()) {
      if (file_.words.size() == kMostIds) refuse(name, fmt::format("over {} tokens", kMostIds));
      file_.words.push_back(token.content);
      ids_.emplace(token.content, static_cast<std::int32_t>(id));
    }
    const auto is_same = [&token](const AddedToken& of) { return of.content == token.content; };
    if (std::ranges::any_of(file_.added, is_same)) refuse(name, "it is there twice");
    token.id = static_cast<std::int32_t>(id);
    file_.added.push_back(std::move(token));
  }

  TokenizerFile file_;
  std::map<std::string, std::int32_t> ids_;
};

}  // namespace

const std::array<std::string, 256>& byte_characters() {
  static const auto characters = [] {
    std::array<std::string, 256> made;
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < made.size(); ++byte) {
      const bool prints = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
      const unsigned code = prints ? byte : next++;
      if (code < 0x80) {
        made[byte] = static_cast<char>(code);
      } else {
        made[byte] = static_cast<char>(0xC0 | (code >> 6));
        made[byte] += static_cast<char>(0x80 | (code & 0x3F));
      }
    }
    return made;
  }();
  return characters;
}

TokenizerFile read_tokenizer(const std::string& path) {
  return TokenizerReader(path).read();
}

}  // namespace scalecalc::train_room
