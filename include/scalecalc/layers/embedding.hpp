#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace scalecalc {

/// A trainable table of `vocab` rows, and one of positions when their std is not 0, and one of
/// segments, of whose rows every token gets the first.
struct Embedding {
  /// The order of its parameters, path + ".weight" and, of positions, path + ".position", of
  /// segments path + ".segment".
  enum Index : std::size_t { weight_index, position_index, segment_index };

  std::string path;
  std::int64_t vocab = 0, width = 0;
  double std = 1.0;
  double position_std = 0.0;
  std::int64_t positions = 0;  ///< rows of that table; 0: the tokens of the network's input
  std::int64_t segments = 0;   ///< rows of that table, of the words' std; 0: no table
  double multiplier = 1.0;     ///< of words
};

}  // namespace scalecalc
