#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace scalecalc {

/// layernorm, rmsnorm and scalenorm (x/|x|, an rmsnorm but for its gain) act on one token's
/// features; batchnorm and instancenorm on one feature over all tokens, or over one sequence's.
enum class NormKind { layernorm, rmsnorm, scalenorm, batchnorm, instancenorm, none };

struct Norm {
  /// The order of its parameters, path + ".gain" and path + ".shift" of an affine one.
  enum Index : std::size_t { gain_index, shift_index };

  std::string path;
  NormKind kind = NormKind::layernorm;
  std::int64_t width = 0;
  double eps = 0.0;
  bool affine = false;
  bool gain_offset = false;  ///< the gain is 1 + the parameter, which starts at 0 (Gemma)
};

}  // namespace scalecalc
