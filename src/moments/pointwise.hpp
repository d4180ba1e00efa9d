#pragma once

#include <algorithm>
#include <utility>

#include "moments/state.hpp"

/// Rules that treat the tokens of a state, and their pairs, one by one.
namespace scalecalc::moments {

/// one(Token) -> Token for each token, two(Token t, Token u, cross) -> cross for each pair.
template <class N, class One, class Two>
Alike<N> map(const Alike<N>& x, const One& one, const Two& two) {
  const Token<N> token{x.mean, x.second};
  const Token<N> mapped = one(token);
  return {mapped.mean, mapped.second, two(token, token, x.cross), two(token, token, x.between)};
}

template <class One, class Two>
PerPosition map(const PerPosition& x, const One& one, const Two& two) {
  PerPosition y = x;
  const Eigen::Index size = x.second.size();
  const auto token = [&](Eigen::Index t) { return Token<double>{x.mean[t], x.second[t]}; };
  for (Eigen::Index t = 0; t < size; ++t) {
    const Token<double> mapped = one(token(t));
    y.mean[t] = mapped.mean;
    y.second[t] = mapped.second;
  }
  const auto pairs = [&](const Eigen::ArrayXXd& from, Eigen::ArrayXXd& to) {
    for (Eigen::Index t = 0; t < from.rows(); ++t)
      for (Eigen::Index u = 0; u <= t; ++u)
        to(t, u) = to(u, t) = two(token(t), token(u), from(t, u));
  };
  pairs(x.cross, y.cross);
  pairs(x.between, y.between);
  return y;
}

/// The same of two states: one(Token, Token) -> Token, two(t, u, cross of x, cross of y)
/// with the tokens of x.
template <class N, class One, class Two>
Alike<N> zip(const Alike<N>& x, const Alike<N>& y, const One& one, const Two& two) {
  const Token<N> s{x.mean, x.second}, t{y.mean, y.second};
  const Token<N> made = one(s, t);
  return {made.mean, made.second, two(s, s, x.cross, y.cross), two(s, s, x.between, y.between)};
}

template <class One, class Two>
PerPosition zip(const PerPosition& x, const PerPosition& y, const One& one, const Two& two) {
  PerPosition z = x;
  const auto token = [](const PerPosition& of, Eigen::Index t) {
    return Token<double>{of.mean[t], of.second[t]};
  };
  for (Eigen::Index t = 0; t < x.second.size(); ++t) {
    const Token<double> made = one(token(x, t), token(y, t));
    z.mean[t] = made.mean;
    z.second[t] = made.second;
  }
  const auto pairs = [&](const Eigen::ArrayXXd& a, const Eigen::ArrayXXd& b, Eigen::ArrayXXd& to) {
    for (Eigen::Index t = 0; t < a.rows(); ++t)
      for (Eigen::Index u = 0; u <= t; ++u)
        to(t, u) = to(u, t) = two(token(x, t), token(x, u), a(t, u), b(t, u));
  };
  pairs(x.cross, y.cross, z.cross);
  pairs(x.between, y.between, z.between);
  return z;
}

/// f(a, b) entry by entry: of the means, the seconds, the crosses.
template <class N, class F>
Alike<N> combine(const Alike<N>& a, const Alike<N>& b, const F& f) {
  return {f(a.mean, b.mean), f(a.second, b.second), f(a.cross, b.cross), f(a.between, b.between)};
}

template <class F>
PerPosition combine(const PerPosition& a, const PerPosition& b, const F& f) {
  return {a.positions, a.mean.binaryExpr(b.mean, f), a.second.binaryExpr(b.second, f),
          a.cross.binaryExpr(b.cross, f), a.between.binaryExpr(b.between, f)};
}

/// f(a) entry by entry.
template <class N, class F>
Alike<N> each(const Alike<N>& a, const F& f) {
  return {f(a.mean), f(a.second), f(a.cross), f(a.between)};
}
template <class F>
PerPosition each(const PerPosition& a, const F& f) {
  return {a.positions, a.mean.unaryExpr(f), a.second.unaryExpr(f), a.cross.unaryExpr(f),
          a.between.unaryExpr(f)};
}

/// f(cross) of the crosses alone.
template <class N, class F>
Alike<N> each_cross(const Alike<N>& a, const F& f) {
  return {a.mean, a.second, f(a.cross), f(a.between)};
}
template <class F>
PerPosition each_cross(const PerPosition& a, const F& f) {
  return {a.positions, a.mean, a.second, a.cross.unaryExpr(f), a.between.unaryExpr(f)};
}

/// Entry by entry: the backward pass of a pointwise rule is the gradient times its kernel.
template <class X>
X product(const X& a, const X& b) {
  return combine(a, b, [](const auto& s, const auto& t) { return s * t; });
}
template <class X>
X sum(const X& a, const X& b) {
  return combine(a, b, [](const auto& s, const auto& t) { return s + t; });
}
/// The crosses alone: y's are added to x's.
template <class N>
Alike<N> sum_cross(const Alike<N>& x, const Alike<N>& y) {
  return {x.mean, x.second, x.cross + y.cross, x.between + y.between};
}
inline PerPosition sum_cross(PerPosition x, const PerPosition& y) {
  x.cross += y.cross;
  x.between += y.between;
  return x;
}
/// Gradients have no mean.
template <class N>
Alike<N> without_mean(Alike<N> x) {
  x.mean = N(0);
  return x;
}
inline PerPosition without_mean(PerPosition x) {
  x.mean.setZero();
  return x;
}
/// Pairs alone, those within a sequence and those of two.
template <class N>
Alike<N> scaled_pairs(const Alike<N>& x, const N& within, const N& between) {
  return {N(0), N(0), x.cross * within, x.between * between};
}
inline PerPosition scaled_pairs(PerPosition x, double within, double between) {
  x.mean.setZero();
  x.second.setZero();
  x.cross *= within;
  x.between *= between;
  return x;
}
/// What orders left out put past |r| = m, where two tokens are one, comes back to it.
inline Alike<double> with_bounded_cross(Alike<double> x) {
  x.cross = std::min(std::max(x.cross, -x.second), x.second);
  x.between = std::min(std::max(x.between, -x.second), x.second);
  return x;
}
inline PerPosition with_bounded_cross(PerPosition x) {
  const Eigen::ArrayXd roots = x.second.max(0.0).sqrt();
  const Eigen::ArrayXXd most = (roots.matrix() * roots.matrix().transpose()).array();
  x.cross = x.cross.min(most).max(-most);
  if (x.between.size() > 0) x.between = x.between.min(most).max(-most);
  return x;
}

/// Seconds below 0, which orders left out make of what is about 0, become 0, and so do products of
/// pairs of such tokens, which are no larger.
template <class C, class N>
Alike<N> with_positive_second(const C& calculus, Alike<N> x) {
  x.second = calculus.positive(x.second);
  if constexpr (std::is_same_v<N, double>) {
    if (x.second == 0) x.cross = x.between = 0;
  }
  return x;
}
template <class C>
PerPosition with_positive_second(const C& /*calculus*/, PerPosition x) {
  x.second = x.second.max(0.0);
  return x;
}
template <class X>
X scaled(const X& a, const typename X::Number& factor) {
  return each(a, [&](const auto& s) { return s * factor; });
}

/// Tokens that are all as `value` says, in the place of x.
template <class N>
Alike<N> uniform(const Alike<N>& /*x*/, const Alike<N>& value) {
  return value;
}
inline PerPosition uniform(PerPosition x, const Alike<double>& value) {
  x.mean.setConstant(value.mean);
  x.second.setConstant(value.second);
  x.cross.setConstant(value.cross);
  x.between.setConstant(value.between);
  return x;
}

/// token_sum with x = 1 everywhere: g added up over all pairs of tokens.
template <class X>
typename X::Number pair_sum(const X& g, const typename X::Number& tokens,
                            const typename X::Number& batch) {
  using N = typename X::Number;
  return token_sum(each(g, [](const N&) { return N(1); }), g, tokens, batch);
}

}  // namespace scalecalc::moments
