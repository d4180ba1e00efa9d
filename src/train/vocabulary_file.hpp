#pragma once

#include <cstdint>
#include <string>

#include "scalecalc/train.hpp"

/// What a folder with weights keeps of its text for a fine-tuning: "vocabulary.json" has the words,
/// what they are of, and the part of validation that the loss was measured on.
namespace scalecalc::train_room {

/// Words and tokens of a text, and on how many sequences its runs were validated.
struct Vocabulary {
  Corpus corpus;  ///< for training it has the tokens of validation too
  std::int64_t validation_sequences = 0;
};

/// `sequences` of `length` tokens from the start of validation, one after the other. Throws
/// Error(fault).
void save_vocabulary(const std::string& folder, const Corpus& corpus, std::int64_t sequences,
                     std::int64_t length);
/// Throws Error(input) where there is none, for a damaged one and where it is of a text with
/// another fingerprint.
Vocabulary load_vocabulary(const std::string& folder, std::uint64_t fingerprint);

}  // namespace scalecalc::train_room
