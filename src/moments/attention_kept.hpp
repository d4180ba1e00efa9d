#pragma once

#include <cstddef>

#include "moments/attention_backward.hpp"
#include "moments/layers/linear.hpp"
#include "moments/overlap_slope.hpp"

/// What the forward step of attention keeps for its way back.
namespace scalecalc::moments {

template <class C, class X>
struct Kept<Attention, C, X> {
  Places q, k, v, mix;
  AttentionRecord<C, X> record;
  NormVariance spread;                 ///< of the input
  Seldom<NormVariance> memory_spread;  ///< of what keys and values are made of, if it is another
  RelativeError truncation;            ///< of the input
  OverlapDeviation weights{};          ///< of two rows' p.p'
  OverlapDeviation queries{};          ///< of the cosine of two queries
  double rise = 0;                     ///< of the mix's overlap in the input's
  double same_words = 0;               ///< chance that two keys are equal, and share their scores
  double same_queries = 0;             ///< likewise of queries, of such keys
  OverlapDeviation overlaps{};         ///< of their tokens
  double overlap = 0;                  ///< likewise V/D^2
  std::size_t biases = 0;              ///< the table of the scores' biases
  const NormVariance& source_spread() const { return memory_spread ? *memory_spread : spread; }
};

/// Gradients into scores are of D D', and D' is of D as far as it is not of rotation.
template <class C, class X>
double distance_power(const AttentionRecord<C, X>& record) {
  return record.rotation ? 1 + average(record.rotation->apart).second : 2;
}

/// What equal keys make of dk/dr, where g comes to what keys are made of.
template <class C, class X>
double slope_of_words(const Kept<Attention, C, X>& kept, const Gradient<X>& g) {
  return word_slope(average(kept.record.source), average(g.x), g.equal_words, kept.same_words,
                    kept.overlaps.coherent);
}

}  // namespace scalecalc::moments
