#pragma once

#include <cmath>
#include <optional>

#include "moments/attention_keys.hpp"

/// Residual attention: scores are added up over layers, S_l = s_l + S_{l-1}. Given the tokens, the
/// scores of different layers are independent, of mean 0: their covariances add, and so do the
/// second moments of dL/ds_l = sum over j >= l of what the softmax of layer j gives.
namespace scalecalc::moments {

/// Of a sum of scores: `second` is tau2 of a row, `cross` the covariance of two rows at one key.
template <class X>
struct ScoreSum {
  X covariance;
  double squares = 0;        ///< of the layers' tau2, added up; rows averaged
  double own_share = 1;      ///< of the last layer in tau2
  double bias_share = 0;     ///< of biases, which know nothing of tokens
  double concentration = 1;  ///< squares/tau2^2: relative variance that is left of each layer's
};

template <class X>
X geometric_seconds(const X& x) {
  using N = typename X::Number;
  using T = Token<N>;
  using std::sqrt;
  return map(
      x,
      [](const T& u) {
        return T{N(0), u.second};
      },
      [](const T& t, const T& u, const N&) { return N(sqrt(t.second * u.second)); });
}

/// The same of tokens that are alike without a root.
template <class N>
Alike<N> of_sizes(const Alike<N>& x) {
  return {N(0), x.second, x.second, N(0)};
}
inline PerPosition of_sizes(const PerPosition& x) {
  return geometric_seconds(x);
}

/// Of scores q_t.k_s over keys with Dk = `apart`.
template <class N>
Alike<N> score_covariance(const Alike<N>& q, const Alike<N>& apart) {
  return {N(0), q.second * apart.second, q.cross * apart.second, N(0)};
}
inline PerPosition score_covariance(const PerPosition& q, const PerPosition& apart) {
  return product(q, geometric_seconds(apart));
}

/// cross/(second second)^(1/2), and 1 of each row.
template <class C, class X>
X cosines(const X& x) {
  using N = typename X::Number;
  using T = Token<N>;
  using std::sqrt;
  return map(
      x,
      [](const T&) {
        return T{N(0), N(1)};
      },
      [](const T& t, const T& u, const N& cross) {
        if constexpr (C::next_orders) {
          if (t.second * u.second <= 0) return N(1);
        }
        return N(cross / sqrt(t.second * u.second));
      });
}

/// The sum with the scores of one more layer: `own` = scale^2 d_h m_q Dk.
template <class C, class X>
ScoreSum<X> with_scores(const C& calculus, const std::optional<ScoreSum<X>>& before, X own) {
  ScoreSum<X> made{before ? sum(before->covariance, own) : own};
  if constexpr (C::next_orders) {
    const double tau2 = values_of(calculus, own).second;
    const double total = values_of(calculus, made.covariance).second;
    made.squares = (before ? before->squares : 0) + tau2 * tau2;
    made.own_share = total > 0 ? tau2 / total : 1;
    made.concentration = total > 0 ? made.squares / (total * total) : 1;
  }
  return made;
}

/// d_h Dv g_o times the factors of a score's gradient, added up from the last layer down: at
/// queries, at keys (of two rows without the cosine of their queries), and in Wq besides.
template <class X>
struct ScoreGradient {
  X query, key, query_weight;
};

template <class X>
ScoreGradient<X> scaled(const ScoreGradient<X>& g, const typename X::Number& factor) {
  return {scaled(g.query, factor), scaled(g.key, factor), scaled(g.query_weight, factor)};
}

template <class X>
ScoreGradient<X> with_gradient(const std::optional<ScoreGradient<X>>& above, ScoreGradient<X> own) {
  if (!above) return own;
  return {sum(above->query, own.query), sum(above->key, own.key),
          sum(above->query_weight, own.query_weight)};
}

/// The seconds of x and the crosses of y.
template <class X>
X with_cross(const X& x, const X& y) {
  const auto none = [](const auto& s) { return s * 0; };
  return sum_cross(each_cross(x, none), y);
}

}  // namespace scalecalc::moments
