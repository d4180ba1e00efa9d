#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "moments/calculus.hpp"
#include "moments/spread.hpp"

/// A table of words, and one of positions: second = both variances; two tokens share what they have
/// in common (theory, section 2; notes 4).
namespace scalecalc::moments {

/// kappa = sum of f^2 over words of frequency f ~ k^-zipf: the chance that two are the same.
inline double same_word(std::int64_t vocab, double zipf) {
  if (zipf == 0) return 1 / static_cast<double>(vocab);
  double sum = 0, squares = 0;
  for (std::int64_t k = 1; k <= vocab; ++k) {
    const double f = std::pow(static_cast<double>(k), -zipf);
    sum += f;
    squares += f * f;
  }
  return squares / (sum * sum);
}

/// The chance that two tokens are the same word.
inline double token_collision(const Network& network, const Embedding& layer) {
  if (network.token_collision > 0) return network.token_collision;
  return same_word(layer.vocab, network.zipf);
}

/// Two sequences have the same position at one pair of tokens in T.
template <class C>
Alike<typename C::Number> embedded(const C& calculus, const Embedding& layer, double collision,
                                   const typename C::Number& tokens) {
  using N = typename C::Number;
  const N word = calculus.real(layer.std * layer.std);
  const N position = calculus.real(layer.position_std * layer.position_std);
  const N same = word * calculus.real(collision);
  return {N(0), word + position, same, same + position / tokens};
}

/// The overlap of two tokens is that of one word with itself, or none: its deviation over pairs.
inline double word_overlap(const Embedding& layer, double collision) {
  return layer.std * layer.std * std::sqrt(collision * (1 - collision));
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
