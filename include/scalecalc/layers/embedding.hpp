#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace scalecalc {

/// A trainable table of `vocab` rows, and one of positions when their std is not 0.
struct Embedding {
  /// The order of its parameters, path + ".weight" and, of positions, path + ".position".
  enum Index : std::size_t { weight_index, position_index };

  std::string path;
  std::int64_t vocab = 0, width = 0;
  double std = 1.0;
  double position_std = 0.0;
  std::int64_t positions = 0;  ///< rows of that table; 0: the tokens of the network's input
};

}  // namespace scalecalc
