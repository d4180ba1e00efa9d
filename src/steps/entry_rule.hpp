#pragma once

/// Rules that act on each entry G of a gradient by itself, averaged over G ~ N(mean, deviation^2).
namespace scalecalc::steps {

struct EntryRule {
  enum class Kind {
    itself,       ///< G, no more than `bound` to either side
    sign,         ///< G / (|G| + eps)
    row_over_rms  ///< G / sqrt(E G^2)
  };
  Kind kind = Kind::itself;
  double eps = 0;    ///< of sign, >= 0
  double bound = 0;  ///< of itself; 0: none
};

struct EntryMoments {
  double mean = 0;    ///< E f(G)
  double slope = 0;   ///< E f'(G) = E f(G) (G - mean) / deviation^2
  double square = 0;  ///< E f(G)^2
};
/// `deviation` >= 0; at 0 the slope is 0 where f jumps.
EntryMoments entry_moments(const EntryRule& rule, double mean, double deviation);

}  // namespace scalecalc::steps
