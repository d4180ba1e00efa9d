#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/recent.hpp"
#include "moments/attention_keys.hpp"
#include "moments/attention_norms.hpp"
#include "moments/attention_residual.hpp"
#include "moments/calculus.hpp"
#include "moments/key_weights.hpp"
#include "moments/turned_keys.hpp"
#include "scalecalc/network.hpp"

/// Rotary positions in the rules of attention (docs/theory/attention.md#rotary): the covariance of
/// the scores (t, s) and (u, r) has the factor c(t - u - s + r), where c(n) is the mean over the
/// features of a head of cos(n theta), with theta = 0 for those that stay.
namespace scalecalc::moments {

/// What they do to the means over keys: c at one key, and its mean over pairs of different keys; of
/// a row as second, of two rows as cross.
template <class X>
struct RotaryMeans {
  KeyMeans<X> cosine;
  X square;    ///< of one row: mean over features of (mean over pairs of keys of cos(n theta))^2
  X variance;  ///< of one row: of c over pairs of keys
};

RotaryMeans<Alike<double>> rotary_means(const Attention& layer, std::int64_t tokens);
/// Under a causal mask.
RotaryMeans<PerPosition> masked_rotary_means(const Attention& layer, const PerPosition& rows);
/// The same where keys have weights.
RotaryMeans<PerPosition> weighed_rotary_means(const Attention& layer, const PerPosition& rows,
                                              const KeyWeights& weights);

/// By what turned features' own factor multiplies the variance of scores: 1 - w/d_h + a^4 w/d_h.
double rotary_score_scale(const Attention& layer);
/// As many features of a head as make sums of products so steady, where some weigh more: d_h where
/// all turn.
double rotary_features(const Attention& layer);

/// Each theta with its share of the variance of scores, and 0 of the features that stay.
std::vector<KeyTurn> key_turns(const Attention& layer);

/// e^(i t theta) of each theta (a column), averaged over the tokens near each position.
Eigen::MatrixXcd cell_turns(const Attention& layer, const Positions& positions);

/// add(share, turn) of each pair of features that turns, as e^(i t theta) of tokens near the
/// positions, and of what stays, 1 at all.
template <class Add>
void over_turns(const Attention& layer, const Positions& positions, const Add& add) {
  const Eigen::MatrixXcd turns = cell_turns(layer, positions);
  const std::vector<KeyTurn> shares = key_turns(layer);
  for (Eigen::Index i = 0; i < turns.cols(); ++i)
    add(shares[static_cast<std::size_t>(i)].share, Eigen::ArrayXcd(turns.col(i).array()));
  if (static_cast<Eigen::Index>(shares.size()) > turns.cols())
    add(shares.back().share, Eigen::ArrayXcd(Eigen::ArrayXcd::Ones(turns.rows())));
}

/// What a layer's rotary means are made of.
struct RotaryMeansKey {
  std::shared_ptr<const Positions> positions;
  Rotary rotary;
  std::int64_t head_width = 0;
  std::shared_ptr<const KeyWeights> weights;
  friend bool operator==(const RotaryMeansKey&, const RotaryMeansKey&) = default;
};
using KnownRotaryMeans = base::Recent<RotaryMeansKey, RotaryMeans<PerPosition>>;

template <class C>
RotaryMeans<AlikeOf<C>> rotary_means(const C& calculus, const Attention& layer,
                                     const AlikeOf<C>& /*rows*/, std::int64_t tokens,
                                     const std::shared_ptr<const KeyWeights>& /*weights*/) {
  using N = typename C::Number;
  const RotaryMeans<Alike<double>> means = rotary_means(layer, tokens);
  const auto in_numbers = [&](const Alike<double>& x) {
    return Alike<N>{N(0), calculus.real(x.second), calculus.real(x.cross), N(0)};
  };
  return {{in_numbers(means.cosine.same), in_numbers(means.cosine.other)},
          in_numbers(means.square),
          in_numbers(means.variance)};
}
template <class C>
RotaryMeans<PerPosition> rotary_means(C& calculus, const Attention& layer, const PerPosition& rows,
                                      std::int64_t tokens,
                                      const std::shared_ptr<const KeyWeights>& weights) {
  if (!layer.causal) {
    const RotaryMeans<Alike<double>> means = rotary_means(layer, tokens);
    const auto everywhere = [&](const Alike<double>& x) { return uniform(rows, x); };
    return {{everywhere(means.cosine.same), everywhere(means.cosine.other)},
            everywhere(means.square),
            everywhere(means.variance)};
  }
  return calculus.template cache<KnownRotaryMeans>()(
      {rows.positions, layer.rotary, layer.head_width, weights}, [&] {
        return weights ? weighed_rotary_means(layer, rows, *weights)
                       : masked_rotary_means(layer, rows);
      });
}

/// A layer's rotation, of the keys' D = m - r and D' = m c - r c'.
template <class X>
struct Rotation {
  KeyMeans<X> cosine;
  X rows;   ///< 1, and of two rows D'/(D'_t D'_u)^(1/2): by it the cosine of scores is less
  X apart;  ///< D/D' of a row: of its scores' variance over keys, what tokens differ by
  X own;    ///< c' D/D': that of what overlaps of tokens, by chance or not, do to scores
  X keys;   ///< D' of the keys as gradients weigh it, and that of keys that are all 1
  X equal;
  X lengths;    ///< of a row: relative variance of D' between heads, times d_h, past that of D
  X heads;      ///< of a row: the same of tau2, with the lengths of queries, past its 2
  X structure;  ///< of a row: (r/D')^2 Var c, as close keys have scores more alike than far ones
};

template <class X>
KeyMeans<X> turned(const KeyMeans<X>& means, const Seldom<Rotation<X>>& rotation) {
  if (!rotation) return means;
  return {product(means.same, rotation->cosine.same), product(means.other, rotation->cosine.other)};
}

/// Queries with the cosines that rows of their scores have.
template <class X>
X as_rows(const X& q, const Seldom<Rotation<X>>& rotation) {
  return rotation ? product(q, rotation->rows) : q;
}

/// D', which may be negative of two rows.
template <class C, class X>
X turned_apart(const C& calculus, const KeyMeans<X>& means, const Seldom<Rotation<X>>& rotation) {
  using N = typename C::Number;
  if (!rotation) return apart(calculus, means);
  const KeyMeans<X> of = turned(means, rotation);
  const X difference =
      combine(of.same, of.other, [](const N& same, const N& other) { return N(same - other); });
  return without_between(with_cross(apart(calculus, of), difference));
}

/// Of keys that have some, and D of what values are made of.
template <class X>
struct ValueWeights {
  const std::shared_ptr<const KeyWeights>& keys;
  const X& apart;
};

/// D' as gradients weigh it: by the values' overlaps, as far as they have a structure.
template <class X>
X by_values(const Attention& layer, const Rotation<X>& rotation, const X& values, const X& keys,
            const X& found, const ValueWeights<X>& weights) {
  if constexpr (std::is_same_v<X, PerPosition>) {
    if (weights.keys)
      return weighed_apart(*weights.keys, values, keys, weights.apart, key_turns(layer));
    if (layer.causal)
      return turned_by_values(layer, rotation.cosine.same.cross, values, keys, weights.apart);
  }
  return found;
}

/// What next orders ask; `keys` are the means of keys that are not turned.
template <class X>
void finish(Rotation<X>& rotation, const RotaryMeans<X>& means, const KeyMeans<X>& keys,
            const X& unturned, const X& found, bool qk_norm) {
  const auto share = [](double part, double of) {
    return of > 0 ? std::clamp(part / of, 0.0, 1.0) : 1.0;
  };
  const auto over = [](const X& a, const X& b, const auto& f) { return combine(a, b, f); };
  rotation.apart = over(unturned, found, share);
  rotation.own = over(product(unturned, means.cosine.other), rotation.keys, share);
  // mean over features of (1 - cos)^2 over its mean squared, and for q and k of one length without
  // what their lengths bring.
  const X uneven = over(means.cosine.other, means.square, [](double mean, double square) {
    return mean < 1 ? (1 - 2 * mean + square) / ((1 - mean) * (1 - mean)) : 1.0;
  });
  rotation.lengths = over(rotation.apart, uneven, [](double apart, double pairs) {
    return 2 * (1 - apart) * (1 - apart) * pairs;
  });
  rotation.heads = over(rotation.lengths, uneven, [qk_norm](double of, double pairs) {
    return pairs > 0 ? of * std::max(3 - (qk_norm ? 2 : 1) / pairs, 0.0) : 0.0;
  });
  const X shared = over(keys.other, found,
                        [](double r, double of) { return of > 0 ? (r / of) * (r / of) : 0.0; });
  rotation.structure = product(shared, means.variance);
}

/// Of keys with these means; `values` are what values are made of.
template <class C, class X>
Seldom<Rotation<X>> rotation_of(C& calculus, const Attention& layer, const X& values, const X& keys,
                                const KeyMeans<X>& of_keys, std::int64_t tokens,
                                const ValueWeights<X>& weights) {
  using N = typename C::Number;
  if (layer.rotary.width == 0) return {};
  const RotaryMeans<X> means = rotary_means(calculus, layer, values, tokens, weights.keys);
  Seldom<Rotation<X>> made(Rotation<X>{});
  made->cosine = means.cosine;
  const X found = turned_apart(calculus, of_keys, made);
  made->rows = cosines<C>(found);
  const X none = sum(found, scaled(found, N(-1))),
          equal = each(none, [](const N&) { return N(1); });
  const X of_equal = combine(means.cosine.same, means.cosine.other,
                             [](const N& same, const N& other) { return N(same - other); });
  made->keys = by_values(layer, *made, values, keys, found, weights);
  made->equal = by_values(layer, *made, values, equal, of_equal, weights);
  if constexpr (C::next_orders) {
    made->rows = each_cross(made->rows, [](double c) { return std::clamp(c, -1.0, 1.0); });
    finish(*made, means, of_keys, apart(calculus, of_keys), found, has_unit_heads(layer));
  }
  return made;
}

}  // namespace scalecalc::moments
