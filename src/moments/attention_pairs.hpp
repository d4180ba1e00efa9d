#pragma once

#include "moments/attention_backward.hpp"
#include "moments/overlap_slope.hpp"

/// Gradients of scores at pairs of tokens that overlap by what words or chance make alike.
namespace scalecalc::moments {

/// dk/dr of what comes back through scores, whose gradients are of the overlaps of values and keys:
/// sum x_t g_t of a feature has `beyond` of these besides the product of means, by pairs of one
/// sequence (docs/theory/attention.md#score-slopes). That of words is slope_of_words.
template <class C, class X>
OverlapSlope slope_of_scores(const AttentionRecord<C, X>& record, const OverlapDeviation& overlaps,
                             double beyond) {
  const double variance = overlaps.coherent * overlaps.coherent + overlaps.noise,
               tokens = record.counts.keys;
  if (record.words || !(variance > 0) || !(tokens > 1)) return {};
  const double slope = beyond / (record.batch * tokens * (tokens - 1) * variance);
  return {slope, slope * overlaps.coherent};
}

}  // namespace scalecalc::moments
