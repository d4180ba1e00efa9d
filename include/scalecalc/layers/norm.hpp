#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace scalecalc {

/// layernorm, rmsnorm and scalenorm (x/|x|, an rmsnorm but for its gain) act on one token's
/// features; batchnorm and instancenorm on one feature over all tokens, or over one sequence's.
/// dyt, which stands in the place of a norm, is tanh(alpha x) of each feature (Zhu et al. 2025).
enum class NormKind { layernorm, rmsnorm, scalenorm, batchnorm, instancenorm, dyt, none };

struct Norm {
  /// Its parameters: path + ".gain" and path + ".shift" of an affine one, behind path + ".alpha" of
  /// a dyt.
  enum Index : std::size_t { gain_index, shift_index, alpha_index };

  std::string path;
  NormKind kind = NormKind::layernorm;
  std::int64_t width = 0;
  double eps = 0.0;
  bool affine = false;
  bool gain_offset = false;  ///< the gain is 1 + the parameter, which starts at 0 (Gemma)
  double alpha = 0.5;        ///< of dyt: where its learnt number starts
  double scale = 1.0;        ///< of the output, gain and shift included (LayerNorm Scaling)
};

}  // namespace scalecalc
