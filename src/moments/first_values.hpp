#pragma once

#include <optional>

#include "moments/gradient.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/seldom.hpp"
#include "moments/signal.hpp"

/// The values that later blocks read of the first (docs/theory/attention.md#value-residual).
namespace scalecalc::moments {

/// u, and what it is made of by weights of E n w^2 = `gain`.
template <class X>
struct FirstValues {
  Signal<X> values, source;
  typename X::Number gain{};
  /// Correlation over draws of the overlaps of `source` and of those of the stream.
  double follows = 1;
};

/// What the way back knows of such a layer: of the first values' input, of u and of what all values
/// are made of (mixed_source) the moments, with D and x_s.x_s' over pairs of keys.
template <class X>
struct FirstRecord {
  X source, apart, shared;
  X u, apart_u, shared_u;
  X values, apart_values, shared_values;
  OverlapDeviation overlaps{};  ///< of the first values' input, as far as the stream's do
  double overlap = 1;           ///< SharedOverlap::first
  double own = 1;               ///< of E v'^2, what this layer's weights make
};

/// What later blocks give the first values: all of it but what lies along these is independent
/// between blocks, whose output matrices it comes through.
template <class X>
struct FirstGradient {
  X x;                          ///< at u
  typename X::Number weight{};  ///< E (dL/dW)^2 of one entry, but for the matrix' scale
  RelativeError error{}, truncation{};
  LogCovariance logs,
      last;                ///< how far it fluctuates, and the stream's at the last of these blocks
  double equal_words = 0;  ///< E g_s g_r of two equal tokens over E g^2
  double gain = 0;         ///< a of what is along u, a P^T P u of each block, added up
  typename X::Number aligned{};     ///< of that, what a token has along its own u
  std::optional<X> along{};         ///< E y_t.y_r of it, of heads averaged
  std::optional<X> along_tokens{};  ///< K of it, where all blocks know theirs
};

}  // namespace scalecalc::moments
