#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "moments/fluctuations.hpp"
#include "moments/mixture.hpp"
#include "moments/state.hpp"

/// What travels forward.
namespace scalecalc::moments {

/// Everything that travels forward. X is Alike<N> or PerPosition.
template <class X>
struct Signal {
  using Number = typename X::Number;
  X x;
  std::int64_t width = 0;   ///< features
  std::int64_t tokens = 0;  ///< of one sequence
  /// Of a network with a tied head: E x_t e_t (as its second), e the embedding of the token's word,
  /// while a part of it is left.
  std::optional<X> own{};
  Overlap<Number> overlap;
  NormVariance spread;
  double kurtosis = 3;  ///< E x^4/(E x^2)^2 of a feature; 3 behind weights
  /// Relative variance of a feature's size over the samples beyond that of Gaussian features, which
  /// have 2/n: none of it is left behind a norm over samples, until weights mix them.
  double size_excess = 0;
  /// Of it, what two samples have together: they are of a point of a sphere.
  double sphere_excess = 0;
  /// Right behind weights: V/D^2 of what they mix. Features differ in size by 2 V/D^2 more than n
  /// samples make them.
  double map_overlap = 0;
  /// Of the variance V of overlaps, what the mask of one token makes: it is the same with all
  /// others, and drops out of centred overlaps.
  double mask_overlap = 0;
  Mixture mixture;  ///< of features behind dropout, until weights mix them
  /// Right behind an activation: its name, and its input's averages.
  std::optional<std::pair<std::string, Alike<double>>> flat;
  double repeats = 0;       ///< chance that two tokens of a sequence are the same word
  double triples = 0;       ///< that three are
  double different = 0;     ///< how many different words a sequence has
  bool same_words = false;  ///< tokens of the same word are equal
  bool normalised = false;  ///< by a layernorm or rmsnorm right before: |x| does not fluctuate
  RelativeError error, truncation;  ///< from how primitives are computed; from orders left out
};

}  // namespace scalecalc::moments
