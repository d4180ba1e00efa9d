#pragma once

#include <cstdint>

#include "base/host_device.hpp"
#include "tensor/device.hpp"

/// Where things are in attention, and which key a query may look at.
namespace scalecalc::tensor {

/// Query heads that read one key head.
SCALECALC_HOST_DEVICE inline std::int64_t heads_per_key(const AttentionShape& s) {
  return s.heads / s.key_heads();
}

/// Where one query head of one sequence starts: in q and the mix, in k and v, and among the rows of
/// weights.
struct Head {
  SCALECALC_HOST_DEVICE Head(const AttentionShape& s, std::int64_t sequence, std::int64_t head)
      : query(sequence * s.tokens * s.width() + head * s.head_width),
        key(sequence * s.key_tokens() * s.key_width() + head / heads_per_key(s) * s.head_width),
        row((sequence * s.heads + head) * s.tokens) {}
  std::int64_t query, key, row;
};

/// How many keys, from the first on, query t looks at. Queries beyond the last see all.
SCALECALC_HOST_DEVICE inline std::int64_t keys_seen(const AttentionShape& s, std::int64_t t) {
  return s.causal && t + 1 < s.key_tokens() ? t + 1 : s.key_tokens();
}

/// The index of weight (row, u) in the stream of the mask.
SCALECALC_HOST_DEVICE inline std::int64_t weight_index(const AttentionShape& s, std::int64_t row,
                                                       std::int64_t u) {
  return row * s.key_tokens() + u;
}

/// The gradient of a score before it is scaled: with weight p and p's gradient dp = share (dmix .
/// v), p (dp - sum of p dp), where that sum, `along`, is dmix . mix.
template <class Real>
SCALECALC_HOST_DEVICE Real score_gradient(Real scale, Real weight, Real slope, Real along) {
  return scale * weight * (slope - along);
}

}  // namespace scalecalc::tensor
