#pragma once

#include <algorithm>
#include <cmath>

#include "moments/layers/embedding.hpp"
#include "moments/pointwise.hpp"
#include "moments/signal.hpp"

/// A head tied to the embedding (docs/theory/layers.md#tied-head): the stream keeps a part of the
/// token's word, so that the logit of the word itself has a mean M.
namespace scalecalc::moments {

inline const Linear& head_of(const Network& network) {
  return std::get<Linear>(network.layers.back().op);
}
/// The chance that two tokens are the same word, for which they share their own logit.
inline double own_collision(const Network& network) {
  return token_collision(network, std::get<Embedding>(network.layers.front().op));
}

/// Variance of the own word's logit about M over draws: (1 - rho^2/2) of the others', rho the
/// correlation of h and e.
inline double own_word_variance(double mean, double others, double width) {
  return std::max(others - mean * mean / width / 2, others / 2);
}

/// M = a d E[h e] of each token, a the multiplier: its square, over V, is in the logits' second
/// and, of equal words, in their cross.
template <class C, class X>
void add_own_word(C& calculus, const Network& network, const Linear& head, const Signal<X>& in,
                  Signal<X>& y) {
  using N = typename C::Number;
  using T = Token<N>;
  if (!in.own) return;
  const N classes = calculus.size(head.fan_out, "vocab");
  const N scale = calculus.real(head.multiplier) * calculus.size(head.fan_in, "width") / classes;
  const N same = calculus.real(own_collision(network)) * classes;
  const X means = map(
      *in.own,
      [&](const T& q) {
        return T{N(scale * q.second), N(0)};
      },
      [](const T&, const T&, const N&) { return N(0); });
  y.x = zip(
      y.x, means,
      [&](const T& u, const T& own) {
        return T{own.mean, u.second + classes * own.mean * own.mean};
      },
      [&](const T&, const T&, const N& cross, const N&) { return cross; });
  y.x = map(
      y.x, [](const T& u) { return u; },
      [&](const T& t, const T& u, const N& cross) { return N(cross + same * t.mean * u.mean); });
}

/// The share p of a token's own word in its softmax: a logistic function of a normal number, the
/// word's logit less the logarithm of the sum of the others'.
struct OwnShare {
  double mean = 0, square = 0;  ///< E p, E p^2
  double log_sum = 0;           ///< E -ln(1 - p): what the word adds to the logarithm of the sum
};
OwnShare own_share(double mean, double variance);

/// Var ln sum e^z of normal z of variance tau2: tau2 times the integral of O over the correlation,
/// 0 to 1, by Simpson's rule from O at 0, 1/2 and 1.
inline double log_sum_variance(double tau2, double apart, double half, double together) {
  return tau2 * (apart + 4 * half + together) / 6;
}

}  // namespace scalecalc::moments
