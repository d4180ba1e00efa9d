#pragma once

#include <optional>

#include "moments/gradient.hpp"

namespace scalecalc::moments {

/// The gradient of the loss in the logits (docs/theory/layers.md#head).
template <class X>
struct LossGradient {
  X logits;
  typename X::Number
      hessian{};  ///< E of a diagonal entry of H of one token's loss, times the reduction
  typename X::Number loss{};
  std::optional<X> slopes{};  ///< dk/dr: of a pair's gradient in the pair's E y_t y_u
  double size_slope = 0;      ///< d ln g^2/d ln |y|^2 of one token, of its logits' own size
  RelativeError truncation{};
  double own_drift = 1;   ///< of hessian^2, what draws of this width make of it
  double own_square = 0;  ///< E g^2 of the words' own logits, over all: a part of `logits`
  std::optional<double> equal_words{};  ///< of a tied head: Gradient::equal_words of the logits
  OwnWord own{};  ///< `along` is a part of `hessian`, `word` E g of the word's own logit
};

}  // namespace scalecalc::moments
