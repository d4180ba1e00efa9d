#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace scalecalc {

/// `count` learnt vectors in front of the tokens of each sequence, the same in all of them, and
/// then, when their std is not 0, a table of positions that is added to all tokens.
struct ClassTokens {
  /// The order of its parameters, path + ".class" (unless there are none) and, of positions,
  /// path + ".position".
  enum Index : std::size_t { class_index, position_index };

  std::string path;
  std::int64_t count = 0, width = 0;
  std::int64_t tokens = 0;  ///< of one sequence, the new ones included
  double std = 0.0;         ///< of the new ones
  double position_std = 0.0;
  /// In the place of that table fixed ones: at token t of feature i < width/2 sin(t w_i), of
  /// feature width/2 + i cos(t w_i), w_i = 10000^(-i/(width/2 - 1)) (Whisper).
  bool sinusoids = false;
  /// Of tokens in rows of so many, 0: one row: sin y w_i, cos y w_i, sin x w_i and cos x w_i of row
  /// y and column x, width/4 features each, w_i = 10000^(-i/(width/4)).
  std::int64_t columns = 0;
};

}  // namespace scalecalc
