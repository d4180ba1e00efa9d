#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scalecalc/layers.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::passes {

/// Whether the layer's window hides a key so many tokens back.
inline bool hides(const Attention& layer, std::int64_t back) {
  return layer.window > 0 && back >= layer.window;
}

/// -alibi m_h (t - s) of each head of each sequence, and what leaves no weight to keys that a
/// window hides.
template <class Real>
std::vector<Real> score_biases(const Attention& layer, const tensor::AttentionShape& shape) {
  const std::vector<double> slopes = alibi_slopes(shape.heads);
  std::vector<Real> made(static_cast<std::size_t>(shape.weight_rows() * shape.key_tokens()));
  std::size_t at = 0;
  for (std::int64_t sequence = 0; sequence < shape.sequences; ++sequence)
    for (const double slope : slopes)
      for (std::int64_t t = 0; t < shape.tokens; ++t)
        for (std::int64_t s = 0; s < shape.key_tokens(); ++s)
          made[at++] = hides(layer, t - s)
                           ? static_cast<Real>(-1e30)
                           : static_cast<Real>(layer.alibi * slope * static_cast<double>(s - t));
  return made;
}

/// Of relative biases: the row of their table of each query and key.
inline std::vector<std::int32_t> score_buckets(const Attention& layer,
                                               const tensor::AttentionShape& shape) {
  std::vector<std::int32_t> buckets;
  buckets.reserve(static_cast<std::size_t>(shape.tokens * shape.key_tokens()));
  for (std::int64_t t = 0; t < shape.tokens; ++t)
    for (std::int64_t s = 0; s < shape.key_tokens(); ++s)
      buckets.push_back(
          static_cast<std::int32_t>(relative_bucket(layer.relative, layer.causal, s - t)));
  return buckets;
}

}  // namespace scalecalc::passes
