#pragma once

#include <cmath>
#include <type_traits>

#include "moments/gradient.hpp"
#include "moments/positions.hpp"

/// Below a mean over tokens a gradient's part along the signal is along that mean p, the same for
/// every token, and below a norm along p - `less` x_t, with a weight of p where a sum has another
/// part along x_t (docs/theory/layers.md#pool).
namespace scalecalc::moments {

/// Means over those tokens; p^2 = (m + (T - 1) r)/T.
template <class X>
Alike<double> averaged_tokens(const AlongMean& mean, const X& x) {
  return mean.others ? of_kind(x, Kind::others) : average(x);
}
inline double square_of_mean(const AlongMean& mean, const Alike<double>& each) {
  return (each.second + (mean.tokens - 1) * each.cross) / mean.tokens;
}

/// The coefficient of x_t itself: 1/T of the mean.
inline double own_share(const AlongMean& mean) {
  return mean ? mean.weight / mean.tokens - mean.less : 1;
}
/// x_t as 0 p + x_t, beside a part along the mean that `other` tells of.
inline AlongMean as_mean(const AlongMean& mean, const AlongMean& other) {
  return mean ? mean : AlongMean{other.tokens, other.others, -1, 0};
}

/// E v_t w_u, v = left.weight p - left.less x and w likewise; of no mean E x_t x_u.
template <class X>
X products_along(const AlongMean& one, const AlongMean& other, const X& x) {
  if constexpr (std::is_same_v<typename X::Number, double>) {
    if (!one && !other) return without_mean(x);
    const AlongMean left = as_mean(one, other), right = as_mean(other, one);
    const Alike<double> each = averaged_tokens(left, x);
    const double both = left.less * right.less,
                 kept = left.weight * right.weight - right.weight * left.less -
                        left.weight * right.less,
                 p2 = square_of_mean(left, each);
    const auto of = [&](double own, double mean) { return kept * mean + both * own; };
    const Alike<double> made{0, of(each.second, p2), of(each.cross, p2),
                             of(each.between, each.between)};
    return left.others ? on_kind(x, Kind::others, made) : uniform(x, made);
  }
  return without_mean(x);
}
template <class X>
X products_along(const AlongMean& mean, const X& x) {
  return products_along(mean, mean, x);
}

/// What weight p - less x_t has along a token's own x: weight p^2/m - less. Of a token's own x, 1.
template <class X>
typename X::Number share_along(const AlongMean& mean, const X& x) {
  using N = typename X::Number;
  if constexpr (std::is_same_v<N, double>) {
    if (!mean) return 1;
    const Alike<double> each = averaged_tokens(mean, x);
    return each.second > 0 ? mean.weight * square_of_mean(mean, each) / each.second - mean.less : 1;
  }
  return N(1);
}

/// What a norm of output y leaves of weight p - less y_t: weight (p - (p^2/m) y_t).
template <class X>
AlongMean left_by_norm(AlongMean mean, const X& output) {
  if constexpr (std::is_same_v<typename X::Number, double>) {
    if (mean) mean.less += share_along(mean, output);
  }
  return mean;
}

/// What the norm takes of E v_t v_u: of no mean all.
template <class X>
X taken_by_norm(const AlongMean& before, const AlongMean& after, const X& output) {
  const X all = products_along(before, output);
  if (!before) return all;
  using N = typename X::Number;
  return sum(all, scaled(products_along(after, output), N(-1)));
}

/// Parts a v and b w of one gradient, along the same signal.
inline AlongMean sum_along(const AlongMean& one, double a, const AlongMean& other, double b) {
  if (!one && !other) return {};
  const AlongMean left = as_mean(one, other), right = as_mean(other, one);
  AlongMean made = left;
  if (a + b != 0) {
    made.less = (a * left.less + b * right.less) / (a + b);
    made.weight = (a * left.weight + b * right.weight) / (a + b);
  }
  return made;
}

/// Below a map that has `own` of a token's own share and `pair` of another's, of a gradient
/// `aligned` (weight p - less y_t). Where next to nothing of the others is left it is along x_t
/// itself.
inline AlongMean mean_below(AlongMean mean, double own, double pair, double& aligned) {
  constexpr double least = 1e-9;
  const double of_own = own * own_share(mean);
  if (!mean || !(std::fabs(pair * mean.weight) > least * std::fabs(of_own))) {
    aligned *= of_own;
    return {};
  }
  aligned *= pair;
  mean.less = mean.less * own / pair - (own / pair - 1) * mean.weight / mean.tokens;
  return mean;
}

}  // namespace scalecalc::moments
