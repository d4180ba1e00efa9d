#pragma once

#include <algorithm>
#include <cmath>

#include "moments/calculus.hpp"
#include "moments/same_word.hpp"
#include "moments/spread.hpp"

/// A table of words, and one of positions: second = both variances; two tokens share what they have
/// in common (theory, section 2; notes 4).
namespace scalecalc::moments {

/// Two sequences have the same position at one pair of tokens in T.
template <class C>
Alike<typename C::Number> embedded(const C& calculus, const Embedding& layer, double zipf,
                                   const typename C::Number& tokens) {
  using N = typename C::Number;
  const N word = calculus.real(layer.std * layer.std);
  const N position = calculus.real(layer.position_std * layer.position_std);
  const N same = word * calculus.real(same_word(layer.vocab, zipf));
  return {N(0), word + position, same, same + position / tokens};
}

/// The overlap of two tokens is that of one word with itself, or none: its deviation over pairs.
inline double word_overlap(const Embedding& layer, double zipf) {
  const double kappa = same_word(layer.vocab, zipf);
  return layer.std * layer.std * std::sqrt(kappa * (1 - kappa));
}

/// Mean over rows: (T g + T (T-1) kappa k)/V in one sequence, and B times that with the pairs of
/// different sequences beside; k at equal words is taken to be k at any.
template <class X, class N>
N row_gradient(const X& gradient, const N& kappa, const N& vocab, const N& tokens, const N& batch) {
  const Alike<N> g = average(gradient), shared{N(0), N(1), kappa, kappa};
  return token_sum(shared, g, tokens, batch) / vocab;
}

/// One position: B g + B (B-1) k_b.
template <class X, class N>
N position_gradient(const X& gradient, const N& batch) {
  const Alike<N> g = average(gradient);
  return batch * g.second + batch * (batch - 1) * g.between;
}

}  // namespace scalecalc::moments
