#include "train/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>

#include "base/text.hpp"
#include "scalecalc/error.hpp"
#include "train/hash.hpp"
#include "train/pre_tokens.hpp"

namespace scalecalc::train_room {
namespace {

constexpr std::size_t kMostWordBytes = std::size_t{1} << 22;
constexpr std::size_t kMostKnown = std::size_t{1} << 20, kMostKnownBytes = 64;
constexpr std::uint32_t kNoByte = 0;

/// By the character that stands for it.
std::unordered_map<std::string, unsigned char> bytes_by_character() {
  std::unordered_map<std::string, unsigned char> bytes;
  for (unsigned byte = 0; byte < 256; ++byte)
    bytes.emplace(byte_characters()[byte], static_cast<unsigned char>(byte));
  return bytes;
}

/// The bytes that a word of the file stands for; nothing where a character stands for none.
std::optional<std::string> bytes_of_word(const std::string& word) {
  static const std::unordered_map<std::string, unsigned char> by_character = bytes_by_character();
  std::string bytes;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t length = code_point_at(word, at).length;
    const auto found = by_character.find(word.substr(at, length));
    if (length == 0 || found == by_character.end()) return std::nullopt;
    bytes += static_cast<char>(found->second);
    at += length;
  }
  return bytes;
}

/// A piece of a text: an added token, or what stands between those.
struct Piece {
  std::size_t begin = 0, end = 0;
  std::int32_t id = -1;  ///< of the token
};

}  // namespace

/// Of two that begin at one place the longest is found, and then what follows behind it.
class Tokenizer::Finder {
 public:
  Finder(const std::vector<AddedToken>& tokens, bool is_normalized) {
    for (const AddedToken& token : tokens) {
      if (token.is_normalized != is_normalized) continue;
      std::uint32_t node = 0;
      for (const char c : token.content) {
        const auto [next, is_new] = children_.try_emplace(step(node, c), nodes_);
        if (is_new) ++nodes_;
        node = next->second;
      }
      ends_.emplace(node, &token);
    }
  }

  /// Cuts up what is no token yet.
  std::vector<Piece> cut(std::string_view text, const std::vector<Piece>& pieces) const {
    if (ends_.empty()) return pieces;
    std::vector<Piece> cut;
    for (const Piece& piece : pieces) {
      if (piece.id >= 0) {
        cut.push_back(piece);
      } else {
        add(text.substr(piece.begin, piece.end - piece.begin), piece.begin, cut);
      }
    }
    return cut;
  }

 private:
  static std::uint64_t step(std::uint32_t node, char c) {
    return static_cast<std::uint64_t>(node) << 8 | static_cast<unsigned char>(c);
  }

  const AddedToken* longest(std::string_view text, std::size_t at) const {
    const AddedToken* found = nullptr;
    std::uint32_t node = 0;
    for (; at < text.size(); ++at) {
      const auto next = children_.find(step(node, text[at]));
      if (next == children_.end()) break;
      node = next->second;
      if (const auto end = ends_.find(node); end != ends_.end()) found = end->second;
    }
    return found;
  }

  void add(std::string_view text, std::size_t offset, std::vector<Piece>& to) const {
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
      const AddedToken* token = longest(text, at);
      if (token == nullptr) {
        ++at;
        continue;
      }
      std::size_t begin = at, end = at + token->content.size();
      at = end;
      if (token->takes_left)
        while (begin > done && is_space(code_point_at(text, start_before(text, begin)).value))
          begin = start_before(text, begin);
      if (token->takes_right)
        while (end < text.size() && is_space(code_point_at(text, end).value))
          end += code_point_at(text, end).length;
      if (done < begin) to.push_back({offset + done, offset + begin});
      to.push_back({offset + begin, offset + end, token->id});
      done = end;
      at = std::max(at, done);
    }
    if (done < text.size()) to.push_back({offset + done, offset + text.size()});
  }

  static std::size_t start_before(std::string_view text, std::size_t end) {
    do --end;
    while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
    return end;
  }

  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::unordered_map<std::uint32_t, const AddedToken*> ends_;
  std::uint32_t nodes_ = 1;
};

Tokenizer::Tokenizer(TokenizerFile file) : file_(std::move(file)) {
  std::unordered_map<std::string, std::int32_t> ids;
  for (std::size_t id = 0; id < file_.words.size(); ++id) {
    const std::optional<std::string> bytes = bytes_of_word(file_.words[id]);
    lengths_.push_back(bytes ? static_cast<std::uint32_t>(bytes->size()) : kNoByte);
    if (bytes && file_.takes_whole_words)
      whole_words_.emplace(*bytes, static_cast<std::int32_t>(id));
    ids.emplace(file_.words[id], static_cast<std::int32_t>(id));
  }
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const auto found = ids.find(byte_characters()[byte]);
    if (found == ids.end())
      throw Error(ErrorKind::input,
                  fmt::format("model.vocab of the tokenizer has no byte {}", byte),
                  base::shortened(file_.path), "give one whose vocabulary has all 256 bytes");
    byte_ids_[byte] = found->second;
  }
  for (std::size_t rank = 0; rank < file_.merges.size(); ++rank) {
    const auto [left, right, made] = file_.merges[rank];
    merges_[key_of(left, right)] = {static_cast<std::int32_t>(rank), made};  // the last one counts
  }
}

Tokenizer::Encoded Tokenizer::encode(std::string_view text, const std::string& name) {
  if (const std::size_t at = not_utf8_at(text); at < text.size())
    throw Error(ErrorKind::input, fmt::format("the text is not UTF-8 at byte {}", at), name,
                "the tokens of --tokenizer are of text in UTF-8");
  const Finder first(file_.added, false), second(file_.added, true);
  Encoded encoded;
  for (const Piece& piece : second.cut(text, first.cut(text, {{0, text.size()}}))) {
    if (piece.id < 0) {
      encode_rest(text.substr(piece.begin, piece.end - piece.begin), name, encoded);
      continue;
    }
    encoded.ids.push_back(piece.id);
    encoded.bytes.push_back(static_cast<std::uint32_t>(piece.end - piece.begin));
  }
  return encoded;
}

void Tokenizer::encode_rest(std::string_view text, const std::string& name, Encoded& to) {
  // A space of the library's own in front of a text that has none: the first word goes with it.
  std::string prefixed;
  const bool has_prefix = file_.has_prefix_space && !text.empty() && text.front() != ' ';
  if (has_prefix) {
    prefixed = " " + std::string(text);
    text = prefixed;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = file_.has_pattern ? pre_token_end(text, at) : text.size();
    encode_word(text.substr(at, end - at), has_prefix && at == 0, name, to);
    at = end;
  }
}

void Tokenizer::encode_word(std::string_view word, bool has_prefix, const std::string& name,
                            Encoded& to) {
  if (word.size() > kMostWordBytes)
    throw Error(ErrorKind::input,
                fmt::format("a word of {} bytes, and {} may be", word.size(), kMostWordBytes), name,
                "give a text whose words end");
  const std::string bytes(word);
  std::vector<std::int32_t> made;
  const auto known = known_.find(bytes);
  if (known == known_.end()) made = merged(word);
  const std::vector<std::int32_t>& ids = known == known_.end() ? made : known->second;
  std::uint32_t extra = has_prefix ? 1 : 0;
  for (const std::int32_t id : ids) {
    to.ids.push_back(id);
    to.bytes.push_back(lengths_[static_cast<std::size_t>(id)] - extra);
    extra = 0;
  }
  if (known == known_.end() && word.size() <= kMostKnownBytes && known_.size() < kMostKnown)
    known_.emplace(bytes, std::move(made));
}

/// The pair of the least rank, of these the first, as long as there is one.
std::vector<std::int32_t> Tokenizer::merged(std::string_view word) const {
  if (file_.takes_whole_words)
    if (const auto found = whole_words_.find(std::string(word)); found != whole_words_.end())
      return {found->second};
  struct Symbol {
    std::int32_t id, before, behind;  ///< places; -1: none. id -1: it has gone into another
  };
  const auto count = static_cast<std::int32_t>(word.size());
  std::vector<Symbol> symbols;
  for (std::int32_t i = 0; i < count; ++i)
    symbols.push_back({byte_ids_[static_cast<unsigned char>(word[static_cast<std::size_t>(i)])],
                       i - 1, i + 1 < count ? i + 1 : -1});
  const auto at = [&symbols](std::int32_t i) -> Symbol& {
    return symbols[static_cast<std::size_t>(i)];
  };
  using Possible = std::tuple<std::int32_t, std::int32_t>;  // rank, place
  std::priority_queue<Possible, std::vector<Possible>, std::greater<>> possible;
  const auto merge_at = [&](std::int32_t i) -> const Merge* {
    if (i < 0 || at(i).id < 0 || at(i).behind < 0) return nullptr;
    const auto found = merges_.find(key_of(at(i).id, at(at(i).behind).id));
    return found == merges_.end() ? nullptr : &found->second;
  };
  const auto consider = [&](std::int32_t i) {
    if (const Merge* merge = merge_at(i)) possible.emplace(merge->rank, i);
  };
  for (std::int32_t i = 0; i < count; ++i) consider(i);
  while (!possible.empty()) {
    const auto [rank, i] = possible.top();
    possible.pop();
    const Merge* merge = merge_at(i);
    if (merge == nullptr || merge->rank != rank) continue;  // what stood there has changed
    Symbol& left = at(i);
    Symbol& right = at(left.behind);
    left.id = merge->made;
    left.behind = right.behind;
    right.id = -1;
    if (left.behind >= 0) at(left.behind).before = i;
    consider(left.before);
    consider(i);
  }
  std::vector<std::int32_t> ids;
  for (const Symbol& symbol : symbols)
    if (symbol.id >= 0) ids.push_back(symbol.id);
  return ids;
}

std::uint64_t Tokenizer::fingerprint() const {
  std::uint64_t sum = 0;
  const auto add = [&sum](const void* bytes, std::size_t count) { sum = hash(bytes, count, sum); };
  const auto add_number = [&add](std::uint64_t number) { add(&number, sizeof number); };
  const auto add_text = [&](const std::string& text) {
    add_number(text.size());
    add(text.data(), text.size());
  };
  for (const bool option : {file_.has_prefix_space, file_.has_pattern, file_.takes_whole_words})
    add_number(option ? 1 : 0);
  for (const std::string& word : file_.words) add_text(word);
  for (const auto& merge : file_.merges) add(merge.data(), sizeof merge);
  for (const AddedToken& token : file_.added) {
    add_text(token.content);
    add_number((token.takes_left ? 1 : 0) + (token.takes_right ? 2 : 0) +
               (token.is_normalized ? 4 : 0));
  }
  return sum;
}

}  // namespace scalecalc::train_room
