#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "train/tokenizer_file.hpp"

namespace scalecalc::train_room {

/// The tokens of a text, as the library tokenizers has them where no special tokens are put around
/// it.
class Tokenizer {
 public:
  /// Throws Error(input) where a byte is no token.
  explicit Tokenizer(TokenizerFile file);

  struct Encoded {
    std::vector<std::int32_t> ids;
    std::vector<std::uint32_t> bytes;  ///< of the text, that each stands for
  };
  /// Throws Error(input) for a text that is not UTF-8, and for a word that is too long.
  Encoded encode(std::string_view text, const std::string& name);

  const TokenizerFile& file() const { return file_; }
  /// Of all that tokens depend on.
  std::uint64_t fingerprint() const;

 private:
  /// Of added tokens, as a tree of their bytes.
  class Finder;

  void encode_rest(std::string_view text, const std::string& name, Encoded& to);
  void encode_word(std::string_view word, bool has_prefix, const std::string& name, Encoded& to);
  std::vector<std::int32_t> merged(std::string_view word) const;

  struct Merge {
    std::int32_t rank, made;
  };
  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }

  TokenizerFile file_;
  std::array<std::int32_t, 256> byte_ids_{};
  std::unordered_map<std::uint64_t, Merge> merges_;            ///< by both tokens
  std::unordered_map<std::string, std::int32_t> whole_words_;  ///< by bytes; of takes_whole_words
  std::vector<std::uint32_t> lengths_;                         ///< bytes of a token, by id
  std::unordered_map<std::string, std::vector<std::int32_t>> known_;  ///< words met before
};

}  // namespace scalecalc::train_room
