#pragma once

#include <cstdint>

namespace scalecalc::moments {

/// Of words of frequencies f ~ k^-zipf, k <= vocab.
struct WordChances {
  double same = 0;       ///< sum of f^2: the chance that two are the same
  double triple = 0;     ///< sum of f^3: that three are
  double different = 0;  ///< expected number of different words among so many tokens
};
WordChances word_chances(std::int64_t vocab, double zipf, double tokens);

}  // namespace scalecalc::moments
