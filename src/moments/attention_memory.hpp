#pragma once

#include <optional>
#include <utility>

#include "moments/attention_kept.hpp"
#include "moments/attention_pairs.hpp"
#include "moments/gradient_error.hpp"
#include "moments/sums.hpp"

/// What cross-attention gives back to the memory.
namespace scalecalc::moments {

/// Adds what comes back to the memory. Each layer's part ends in matrices of its own, so that it is
/// independent of those of the layers above, but for what it has along the memory; they share what
/// the gradient of the stream has fluctuated by where the last one left it
/// (docs/theory/attention.md#memory).
template <class C, class X>
void add_to_memory(BackwardPass<C, X>& pass, const Attention& layer,
                   const Kept<Attention, C, X>& kept, const Gradient<X>& above,
                   const AttentionBackward<X>& made, const LogCovariance& own) {
  C& calculus = pass.calculus();
  Gradient<X> part{made.memory, above.spread, above.error, above.truncation};
  part.log_covariance = own;
  part.aligned = made.aligned;
  part.along_tokens = made.along_tokens;
  part.beyond_pairs = made.memory_beyond_pairs;
  part.equal_words = kept.record.words ? made.equal_keys : 0;
  part.truncation.second += made.memory_truncation.second;
  part.truncation.cross += made.memory_truncation.cross;
  if constexpr (C::next_orders) {
    // Scores go as |x|^2, values as |x|.
    add_size_error(part, kept.source_spread(), 4, layer.k.fan_in, made.key_share);
    add_size_error(part, kept.source_spread(), 2, layer.k.fan_in, 1 - made.key_share);
    part.slopes.within.stream = slope_of_words(kept, part);
    part.slopes.within =
        part.slopes.within + slope_of_scores(kept.record, kept.overlaps, part.beyond_pairs);
  }
  std::optional<MemoryGradient<X>>& memory = pass.memory();
  const LogCovariance& stream = above.log_covariance;
  if (!memory) {
    memory = MemoryGradient<X>{std::move(part), stream, made.memory_gain};
    return;
  }
  LogCovariance start = memory->last;
  start.propagator.setIdentity();
  for (Gradient<X>* each : {&memory->sum, &part}) each->log_covariance.propagator.setIdentity();
  // Along the memory itself all layers give much the same, of one sign.
  std::optional<X> together;
  if constexpr (C::next_orders) {
    const X source = without_mean(kept.record.source);
    const auto& tokens = kept.record.counts.keys;
    if (memory->sum.along_tokens && part.along_tokens)
      together = meeting(*part.along_tokens, over_tokens(*memory->sum.along_tokens, source, tokens),
                         tokens);
  }
  memory->sum = sum_of_ways(pass, std::move(memory->sum), part, start, kept.k.tokens);
  memory->last = stream;
  if constexpr (C::next_orders) {
    if (together) {
      memory->sum.x = with_positive_second(calculus, sum(memory->sum.x, *together));
    } else if (made.memory_along && memory->gain != 0) {
      const double both = 2 * memory->gain * made.memory_gain;
      memory->sum.x =
          with_positive_second(calculus, sum(memory->sum.x, scaled(*made.memory_along, both)));
    }
    memory->gain += made.memory_gain;
  }
}

}  // namespace scalecalc::moments
