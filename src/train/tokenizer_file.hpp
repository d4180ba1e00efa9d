#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// tokenizer.json of the library tokenizers (Hugging Face): byte-level BPE, as GPT-2 has it.
namespace scalecalc::train_room {

/// A token that is looked for in the text before anything else is done with it.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool takes_left = false, takes_right = false;  ///< lstrip, rstrip: the white space beside it
  bool is_normalized = false;                    ///< looked for when the others have been found
};

/// What such a file says, checked: each id of 0 .. words.size() - 1 has one word.
struct TokenizerFile {
  std::string path;
  std::vector<std::string> words;  ///< by id; a byte is one character, as byte_characters() has it
  /// Both tokens of a pair and what they make, those first that come first.
  std::vector<std::array<std::int32_t, 3>> merges;
  std::vector<AddedToken> added;
  bool has_prefix_space = false;   ///< add_prefix_space
  bool has_pattern = true;         ///< use_regex
  bool takes_whole_words = false;  ///< ignore_merges
};

/// By byte the character, in UTF-8, that stands for it in such a file: those that print stand for
/// themselves, the others are U+0100 and on.
const std::array<std::string, 256>& byte_characters();

/// Throws Error(input) that names the field: for what is no such file, for one that is damaged, and
/// for all that would change tokens and is not read here.
TokenizerFile read_tokenizer(const std::string& path);

}  // namespace scalecalc::train_room
