#pragma once

#include <algorithm>
#include <cmath>

#include "moments/attention_scores.hpp"

/// What sums over softmax scores have beyond independent keys at every position: positions that
/// stand for others, keys of one word, rotation.
namespace scalecalc::moments {

/// What interpolation between positions a step h apart leaves of means over tokens of what falls as
/// 1/n or grows as ln n, on the way forward and again on the way back
/// (docs/theory/attention.md#positions).
inline double interpolation_error(const Positions& positions) {
  return positions.step * positions.step / 12;
}

/// With rotation a position stands for the tokens near it, the last one for those of half a step,
/// which D' as gradients weigh it counts in: a quarter of the step is beyond what is seen beside
/// every position.
inline double half_cell_error(const Positions& positions) {
  return positions.step / 4;
}

/// Of T keys some (T - 1) kappa are of a row's word, at a cosine rho: their scores share rho tau^2.
/// What that makes of E p_s p_r, e^(rho tau^2) of independent keys'
/// (docs/theory/attention.md#words), past the mean of overlaps and their variance kappa rho^2,
/// which are counted.
template <class X>
double repeat_cosine(const Signal<X>& source, const Smallness& small) {
  if (!(source.repeats > 0)) return 0;
  const double of_words = std::max(0.0, small.overlap - 1 / small.width) / source.repeats;
  return std::sqrt(std::min(1.0, of_words));
}
template <class X>
double omitted_repeats(const Signal<X>& source, double tau2, double p2, const Smallness& small) {
  if (!(source.repeats > 0)) return 0;
  const double cosine = repeat_cosine(source, small), shared = cosine * tau2;
  const double tokens = static_cast<double>(source.tokens);
  const double more = std::max(0.0, std::expm1(shared) - shared) / (tokens * p2);
  return (tokens - 1) * source.repeats * cosine * std::min(1.0, more);
}

/// Scores of two such keys covary by the share `own` rho of tau2, and E p_s p_r is to that of two
/// words as E p^2 is to it, to that power (docs/theory/attention.md#words-apart): what V = kappa
/// rho^2 has of the gradients is as much more. `correlation` of the rows.
template <class X>
double repeats_of(const Signal<X>& source, const Smallness& small, double keys, double p2,
                  double correlation) {
  const double cosine = repeat_cosine(source, small);
  if (!(cosine > 0) || !(keys * p2 > 1)) return 0;
  const double more = std::pow(keys * p2, small.added * small.own * cosine * correlation) - 1;
  return source.repeats * cosine * cosine * more;
}

/// Scores of close keys that covary more than those of far ones: of P2 relative to it half the
/// square of tau2 times `structure`^(1/2), and of sums over pairs of keys 3 tau2 `structure`, from
/// E p_s p_s' (p_s + p_s' - P2) for small tau2 (docs/theory/attention.md#rotary); no more than all.
inline void add_omitted_rotation(double structure, double tau2, Scores& scores) {
  const auto bounded = [](double x) { return x / (1 + x); };
  scores.mix_truncation += bounded(tau2 * tau2 * structure / 2);
  scores.truncation += bounded(3 * tau2 * structure);
}

}  // namespace scalecalc::moments
