#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "moments/norm_samples.hpp"
#include "moments/pointwise.hpp"

/// Sums over the keys that queries see, and back from queries to keys
/// (docs/theory/attention.md#keys). In a state, `second` is of one row t, `cross` of two rows t !=
/// u.
namespace scalecalc::moments {

class KeyWeights;

/// The same tokens with all moments 0.
template <class N>
Alike<N> without_means(const Alike<N>& /*x*/) {
  return {N(0), N(0), N(0), N(0)};
}
inline PerPosition without_means(PerPosition x) {
  x.mean.setZero();
  x.second.setZero();
  x.cross.setZero();
  x.between.setZero();
  return x;
}

/// Means over the keys: of R_ss over the keys that both rows see, and of R_ss' over the other pairs
/// of a key of the one and a key of the other.
template <class X>
struct KeyMeans {
  X same, other;
};

/// D, clamped at 0: rounding makes it negative where tokens have become one.
template <class C, class X>
X apart(const C& calculus, const KeyMeans<X>& means) {
  using N = typename C::Number;
  X out = combine(means.same, means.other, [&](const N& same, const N& other) {
    return calculus.positive(N(same - other));
  });
  return without_between(std::move(out));
}

/// How many there are.
template <class N>
struct KeyCounts {
  N queries{}, keys{};
  bool causal = false;
  bool one_key = false;
  std::shared_ptr<const KeyWeights> weights{};  ///< of rows whose keys are not alike
};

template <class N>
KeyMeans<Alike<N>> key_means(const Alike<N>& /*queries*/, const Alike<N>& keys,
                             const KeyCounts<N>& /*counts*/) {
  return {{N(0), keys.second, keys.second, N(0)}, {N(0), keys.cross, keys.cross, N(0)}};
}

/// Scores of two sequences know nothing of each other: every pair of keys weighs the same.
template <class N>
N between_means(const Alike<N>& /*queries*/, const Alike<N>& keys, const KeyCounts<N>& /*counts*/) {
  return keys.between;
}

/// To each key from all queries: `same` is summed over the keys that rows share, evenly, `other`
/// over the pairs of different keys.
template <class N>
Alike<N> to_keys(const Alike<N>& same, const Alike<N>& other, const Alike<N>& /*keys*/,
                 const KeyCounts<N>& counts) {
  const N each = counts.queries / counts.keys;
  const N second = each * (same.second + (counts.queries - 1) * same.cross);
  if (counts.one_key) return {N(0), second, N(0), N(0)};
  const N cross = each * (other.second + (counts.queries - 1) * other.cross) / (counts.keys - 1);
  return {N(0), second, cross, N(0)};
}

template <class N>
N between_to_keys(const Alike<N>& gradient, const Alike<N>& /*keys*/, const KeyCounts<N>& counts) {
  const N each = counts.queries / counts.keys;
  return each * each * gradient.between;
}

/// By the weights of keys where there are some; under a mask by prefix and suffix sums over the
/// positions, interpolated like the state; without one, over the averages.
KeyMeans<PerPosition> key_means(const PerPosition& queries, const PerPosition& keys,
                                const KeyCounts<double>& counts);
Eigen::ArrayXXd between_means(const PerPosition& queries, const PerPosition& keys,
                              const KeyCounts<double>& counts);
PerPosition to_keys(const PerPosition& same, const PerPosition& other, const PerPosition& keys,
                    const KeyCounts<double>& counts);

Eigen::ArrayXXd between_to_keys(const PerPosition& gradient, const PerPosition& keys,
                                const KeyCounts<double>& counts);

/// Keys that are not alike: past what D (1 - 1/n) on the diagonal and -D/n elsewhere would be, the
/// mean products of the centred x_s.x_s' of the tokens that a row sees and of their keys', over
/// pairs and over keys, both relative to the product of the Ds. What comes back through scores is a
/// sum of these products, so that one key far from the others counts for more than as many that
/// differ evenly, unless a norm has made keys one size.
struct KeyStructure {
  double pairs = 0, keys = 0;
};
KeyStructure key_structure(const PerPosition& tokens, const PerPosition& keys, Eigen::Index last);

/// What keys of unequal size leave out of mixes, of a causal mask or of kinds of tokens, relative:
/// of D P2 of a row, and of D O of two beside that (docs/theory/attention.md#unequal-keys). `tau2`,
/// `p2`: of each row.
struct OmittedSizes {
  double row = 0, pair = 0;
};
OmittedSizes omitted_sizes(const PerPosition& x, const Eigen::ArrayXd& tau2,
                           const std::vector<double>& p2, bool causal);

/// The factor of tokens' seconds, weighed by these.
template <class X>
typename X::Number mean_factor(const X& factors, const X& x) {
  using N = typename X::Number;
  if constexpr (std::is_same_v<N, double>) {
    const double all = average(x).second;
    if (!(all > 0)) return average(factors).second;
    return average(product(factors, x)).second / all;
  } else {
    return average(factors).second;
  }
}

/// Of what two tokens have in common, as much of one token as its size says.
template <class X>
X common_part(const X& x) {
  using T = Token<double>;
  const Alike<double> means = average(x);
  const double share = means.second > 0 ? std::clamp(means.cross / means.second, 0.0, 1.0) : 0;
  X common = map(
      x,
      [&](const T& u) {
        return T{0, share * u.second};
      },
      [](const T&, const T&, double cross) { return cross; });
  return without_between(std::move(common));
}

}  // namespace scalecalc::moments
