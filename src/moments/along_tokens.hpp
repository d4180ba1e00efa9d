#pragma once

#include <cmath>
#include <utility>

#include "moments/attention_keys.hpp"
#include "moments/gradient.hpp"
#include "moments/pointwise.hpp"

/// What a gradient has along the signals of a sequence, g_t = sum_u K_tu x_u, in which attention
/// brings back other tokens' (docs/theory/attention.md#along-tokens). K is symmetric and travels as
/// a state: `second` of a token's own x, `cross` of another's.
namespace scalecalc::moments {

/// (A R)_tu = sum_v A_tv R_vu of a sequence; crosses of t, u and of u, t differ.
template <class N>
Alike<N> over_tokens(const Alike<N>& a, const Alike<N>& r, const N& tokens) {
  const N others = tokens - 1;
  return {N(0), N(a.second * r.second + others * a.cross * r.cross),
          N(a.second * r.cross + a.cross * r.second + (others - 1) * a.cross * r.cross),
          N((a.second + others * a.cross) * r.between)};
}
inline PerPosition over_tokens(const PerPosition& a, const PerPosition& r, double /*tokens*/) {
  PerPosition out = without_means(r);
  const Eigen::ArrayXXd weighed = a.cross.rowwise() * a.positions->weight.transpose();
  const Eigen::ArrayXd of_a = a.cross.matrix().diagonal().array(),
                       of_r = r.cross.matrix().diagonal().array();
  // Of pairs on the diagonal both tokens are near t, and different: each token itself is apart.
  out.cross = (weighed.matrix() * r.cross.matrix()).array();
  out.second = a.second * r.second + out.cross.matrix().diagonal().array() - of_a * of_r;
  out.cross += r.cross.colwise() * (a.second - of_a);
  out.cross += a.cross.rowwise() * (r.second - of_r).transpose();
  if (r.between.size() > 0)
    out.between =
        (weighed.matrix() * r.between.matrix()).array() + r.between.colwise() * (a.second - of_a);
  return out;
}

template <class N>
Alike<N> transposed(const Alike<N>& x) {
  return x;
}
inline PerPosition transposed(PerPosition x) {
  x.cross = x.cross.transpose().eval();
  x.between = x.between.transpose().eval();
  return x;
}

/// Of K and of H_tu = E v_t x_u: E v_t.(K x)_u + E (K x)_t.v_u.
template <class X>
X meeting(const X& k, const X& h, const typename X::Number& tokens) {
  const X one = over_tokens(k, transposed(h), tokens);
  return sum(one, transposed(one));
}
/// E (K x)_t.(L x)_u.
template <class X>
X along_both(const X& k, const X& l, const X& x, const typename X::Number& tokens) {
  return over_tokens(k, transposed(over_tokens(l, x, tokens)), tokens);
}

/// E (K x)_t.(K x)_u less that of `own`.
template <class X>
X squares_beyond(const X& k, const X& own, const X& x, const typename X::Number& tokens) {
  return sum(along_both(k, k, x, tokens), scaled(along_both(own, own, x, tokens), -1.0));
}

/// Of a token's own x alone.
template <class X>
X own_tokens(const X& k) {
  using T = Token<typename X::Number>;
  return map(
      k,
      [](const T& t) {
        return T{{}, t.second};
      },
      [](const T&, const T&, const auto& cross) { return cross * 0; });
}

/// E v_t.x_u of a word's embedding v = `word` e and its signal, E e x = `own`: of pairs those of
/// one word have it.
template <class X>
X along_word(const X& own, double word, double same) {
  using T = Token<typename X::Number>;
  using std::sqrt;
  return map(
      own,
      [&](const T& q) {
        return T{{}, word * q.second};
      },
      [&](const T& t, const T& u, const auto&) { return word * same * sqrt(t.second * u.second); });
}

/// Where what it has along a token's own x went from `before` to `after`.
template <class X>
void rescale_own(Gradient<X>& g, double before, double after) {
  if (!g.along_tokens) return;
  const double ratio = before != 0 ? after / before : 0;
  using T = Token<typename X::Number>;
  *g.along_tokens = map(
      *g.along_tokens,
      [&](const T& t) {
        return T{{}, ratio * t.second};
      },
      [](const T&, const T&, const auto& cross) { return cross; });
}

/// P^T K P of the mix's K, as E g g of values comes from that of mixes: what one row has at one key
/// and at two, of `value` the share at one.
template <class X>
X tokens_to_keys(const X& k, const X& value, const X& keys,
                 const KeyCounts<typename X::Number>& counts) {
  const X same = product(k, value);
  return without_between(to_keys(same, sum(k, scaled(same, -1.0)), keys, counts));
}

/// Both ways of a sum; where one of them is not known, neither is their sum.
template <class X>
void sum_along_tokens(Gradient<X>& left, const Gradient<X>& right) {
  if (left.along_tokens && right.along_tokens)
    *left.along_tokens = sum(*left.along_tokens, *right.along_tokens);
  else if (right.along_tokens || right.aligned != 0)
    left.along_tokens.reset();
}

}  // namespace scalecalc::moments
