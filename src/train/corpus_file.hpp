#pragma once

#include <string>

#include "scalecalc/train.hpp"

/// What a folder keeps of its text, so that it can be read without that: "corpus.json".
namespace scalecalc::train_room {

/// Throws Error(fault).
void save_corpus(const std::string& folder, const Corpus& corpus);
/// Fills description, license and entropies; they stay unknown where there is no such file, or it
/// is of a text with another fingerprint. Throws Error(input) for a damaged one.
void load_corpus(const std::string& folder, std::uint64_t fingerprint, TrainFolder& into);

}  // namespace scalecalc::train_room
