#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/layers/linear.hpp"
#include "scalecalc/layers/norm.hpp"
#include "scalecalc/layers/rotary.hpp"

namespace scalecalc {

/// The slopes m_h of ALiBi (Press et al. 2022), one a head: 2^(-8/n), 2^(-16/n), ... of n heads, a
/// power of two; of other numbers those of the next smaller power, then every second one of twice
/// as many.
std::vector<double> alibi_slopes(std::int64_t heads);

/// Learnt biases of the scores by how far a key is from its query (T5, Raffel et al. 2020): a table
/// of one row a bucket and one column a head.
struct RelativeBias {
  std::int64_t buckets = 0;     ///< even, 0: none; without a mask half of them for each direction
  std::int64_t distance = 128;  ///< from which on all keys have the last bucket
  double std = 0.0;
  /// Has the table that the attentions behind it read too, up to the next that has one.
  bool is_own = false;
};
/// The row of a key so many tokens behind its query, below 0 before it: half of the buckets of a
/// direction are one distance each, the others wider by a factor each, up to `distance`; rounded in
/// single precision as the published code does.
std::int64_t relative_bucket(const RelativeBias& bias, bool causal, std::int64_t offset);

/// Softmax attention over the tokens of one sequence, or over the network's memory; `norm` acts on
/// the mix (sub-ln). k and v have kv_heads * head_width columns.
struct Attention {
  /// The order of its own parameters, path + ".relative_bias" of RelativeBias::is_own.
  enum Index : std::size_t { relative_index };

  std::string path;
  std::int64_t heads = 1, kv_heads = 1, head_width = 0;
  bool causal = false;
  bool over_memory = false;  ///< cross-attention
  /// RMS norms of q and of k without gains, of each head's features or of all heads' at once.
  bool qk_norm = false, qk_norm_all = false;
  double qk_norm_eps = 0.0;
  /// The scores of the Attention before it that has this set, if there is one, are added to its
  /// own before the softmax; of as many heads, queries and keys, and never over a memory.
  bool residual_attention = false;
  /// Its values v become (1 - share) v + share u, u the values that the last Attention before it
  /// with `gives_values` has made of its own input; both of as many heads and tokens, and never of
  /// a memory. 0: they stay.
  double value_residual = 0.0;
  bool gives_values = false;
  double scale = 1.0;
  double softcap = 0.0;  ///< c: scores s become c tanh(s/c), before biases and masks; 0: they stay
  double dropout = 0.0;  ///< of the attention weights
  Rotary rotary;         ///< behind qk_norm; not of cross-attention
  /// Where it is not 0, the score of key s at query t gets -alibi m_h (t - s), with alibi_slopes:
  /// under a causal mask, without rotary positions and residual_attention.
  double alibi = 0.0;
  /// Where it is not 0, query t sees the keys t - window + 1 .. t alone: under a causal mask,
  /// without residual_attention.
  std::int64_t window = 0;
  /// Added to the scores of self-attention, without rotary positions, alibi, a window and
  /// residual_attention.
  RelativeBias relative;
  Linear q, k, v, o;
  std::optional<Norm> norm;
  std::optional<Expr> scale_formula;
};

}  // namespace scalecalc
