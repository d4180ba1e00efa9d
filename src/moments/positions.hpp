#pragma once

#include <memory>

#include "moments/pointwise.hpp"

namespace scalecalc::moments {

/// How far positions of a grid stand apart, over the position.
struct Spacing {
  static constexpr double wide = 1.0 / 3;
  static constexpr double turned = 0.25;   ///< where queries and keys are turned by their position
  static constexpr double narrow = 0.125;  ///< where weights of attention fall with the distance
};

/// All positions up to 64 (or when asked), then a grid whose steps grow with the position
/// (docs/theory/attention.md#positions). With `last_apart` the last stands for itself alone: a head
/// reads it.
std::shared_ptr<const Positions> make_positions(std::int64_t tokens, bool all,
                                                bool last_apart = false,
                                                double spacing = Spacing::wide);
/// tokens x positions: each token's shares of its two neighbours, where not every one is there.
Eigen::MatrixXd interpolation_of(const Positions& positions);

/// The last token, in front of the others, which are alike, `tokens` in all.
std::shared_ptr<const Positions> make_last_apart(std::int64_t tokens);

/// So many class tokens in front of tokens that are alike, `tokens` in all.
std::shared_ptr<const Positions> make_kinds(std::int64_t class_tokens, std::int64_t tokens);

/// x behind class tokens of this second, which know nothing of each other and are the same in every
/// sequence; as an average where tokens are taken to be alike.
template <class N>
Alike<N> with_class_tokens(const Alike<N>& x, const N& count, const N& tokens, const N& second) {
  const N all = tokens + count;
  const N pairs = tokens * (tokens - 1) / (all * (all - 1)), share = tokens / all;
  return {share * x.mean, share * x.second + (1 - share) * second, pairs * x.cross,
          share * share * x.between + count * second / (all * all)};
}
PerPosition with_class_tokens(const PerPosition& x, double count, double tokens, double second);
/// A table of positions: each has a vector of its own, the same in every sequence.
template <class N>
Alike<N> position_table(const Alike<N>& /*x*/, const N& second, const N& tokens) {
  return {N(0), second, N(0), second / tokens};
}
PerPosition position_table(const PerPosition& x, double second, double tokens);
/// Of a table of positions that `x` has as an average, second/tokens in two sequences: where the
/// last token is apart, each position has its own vector in common with itself alone.
template <class N>
Alike<N> with_own_positions(const Alike<N>& x, const N& /*second*/) {
  return x;
}
PerPosition with_own_positions(PerPosition x, double second);
/// Means over tokens of a gradient, and in two sequences of one position with itself.
template <class N>
Alike<N> same_positions(const Alike<N>& x) {
  return x;
}
Alike<double> same_positions(const PerPosition& x);
/// Whether two sequences' equal positions are told from others.
template <class N>
bool has_own_positions(const Alike<N>& /*x*/) {
  return false;
}
inline bool has_own_positions(const PerPosition& x) {
  return x.positions->last_apart && x.between.size() > 0;
}

/// Fixed sines and cosines that are added to tokens of this width
/// (docs/theory/layers.md#sinusoids).
struct Sinusoids {
  Eigen::ArrayXd mean;       ///< over features, at each token
  Eigen::ArrayXd cosine;     ///< of two tokens, by their distance: 1 at 0
  Eigen::Index columns = 0;  ///< of a grid, whose cosines are of two rows or columns; 0: one row
  /// E p_t p_s, which is 1/2 of a token with itself.
  double product(Eigen::Index t, Eigen::Index s) const;
};
Sinusoids sinusoids_of(std::int64_t tokens, std::int64_t width, std::int64_t columns = 0);
/// Their table, the same in every sequence. Tokens that are alike have the averages of its tokens
/// and pairs.
Alike<double> sinusoid_table(const Sinusoids& of, const Alike<double>& x);
PerPosition sinusoid_table(const Sinusoids& of, const PerPosition& x);
/// Variance over pairs of what two tokens of it have in common. Attention without a mask sees it so
/// of each position too: its sums are over averages.
double pair_scatter(const Sinusoids& of);

/// x, whose tokens are alike, at so many of them.
template <class N>
Alike<N> among(const Alike<N>& x, std::int64_t /*tokens*/) {
  return x;
}
PerPosition among(const PerPosition& x, std::int64_t tokens);

/// Part of a state of kinds: its class tokens, or the tokens that are alike.
enum class Kind { class_tokens, others };
/// Averages over one kind; `between` of equal positions for class tokens.
template <class N>
Alike<N> of_kind(const Alike<N>& x, Kind /*kind*/) {
  return x;
}
Alike<double> of_kind(const PerPosition& x, Kind kind);
/// The first alone.
template <class N>
Alike<N> of_first(const Alike<N>& x) {
  return x;
}
Alike<double> of_first(const PerPosition& x);
/// The last alone; without a mask tokens are alike, and it is the one that is kept apart.
template <class N>
Alike<N> of_last(const Alike<N>& x) {
  return x;
}
Alike<double> of_last(const PerPosition& x);
/// The last as `value` says, and nothing of all others.
template <class N>
Alike<N> on_last(const Alike<N>& /*x*/, const Alike<N>& value) {
  return value;
}
PerPosition on_last(PerPosition x, const Alike<double>& value);
/// Tokens of one kind as `value` says, and nothing of all others; of class tokens the first alone.
template <class N>
Alike<N> on_kind(const Alike<N>& /*x*/, Kind /*kind*/, const Alike<N>& value) {
  return value;
}
PerPosition on_kind(PerPosition x, Kind kind, const Alike<double>& value);
/// Without the class tokens in front.
template <class N>
Alike<N> without_class_tokens(const Alike<N>& x) {
  return x;
}
PerPosition without_class_tokens(const PerPosition& x);

/// Tokens that are alike, at these positions; `batch` > 1 keeps the crosses between sequences.
PerPosition spread_over(const Alike<double>& x, std::shared_ptr<const Positions> positions,
                        std::int64_t batch);

}  // namespace scalecalc::moments
