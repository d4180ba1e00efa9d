#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>

/// What is known of the tokens at one place of a network. Rules work on either of two states:
/// `Alike` (exchangeable tokens, any number type) and `PerPosition` (a matrix over positions,
/// double). A gradient is kept in the same types: second = g, cross = k, between = k_b, mean = 0.
namespace scalecalc::moments {

/// One token, per feature.
template <class N>
struct Token {
  N mean{}, second{};
};

/// Tokens that are all alike.
template <class N>
struct Alike {
  using Number = N;
  N mean{};     ///< E x
  N second{};   ///< E x^2
  N cross{};    ///< E x_t x_s, t != s of one sequence
  N between{};  ///< E x_t y_s, tokens of two sequences of a batch
};

struct MaskedSums;

/// The positions that a PerPosition state is kept at; what lies between is interpolated. Of tokens
/// in two kinds, those that are kept.
struct Positions {
  std::int64_t tokens = 0;
  double step = 0;        ///< from one to the next, over it; 0 where every one is there
  Eigen::ArrayXi at;      ///< rising; row t of a causal mask sees the keys 0..t
  Eigen::ArrayXd weight;  ///< of each in a sum over the tokens; adds up to `tokens`
  Eigen::ArrayXXd pairs;  ///< of each in a sum over t != s; adds up to tokens (tokens - 1)
  /// Of each token the last position that is not behind it, and the share of the next one in what
  /// is interpolated there (docs/theory/attention.md#positions).
  Eigen::ArrayXi left;
  Eigen::ArrayXd share;
  /// Sums over the keys and the rows of a causal mask.
  std::shared_ptr<const MaskedSums> masked;
  /// Each stands for itself but the last, which stands for all others: class tokens, and tokens
  /// that are alike.
  bool kinds = false;
  /// The last token has an entry of its own, the first of kinds and the last of others.
  bool last_apart = false;
  bool all() const { return static_cast<std::int64_t>(at.size()) == tokens; }
};

/// Each position for itself. `cross(t, t)` stands for two different tokens that are both near t
/// (interpolation needs it); where every position is there it has weight 0, but is to be finite.
struct PerPosition {
  using Number = double;
  std::shared_ptr<const Positions> positions;
  Eigen::ArrayXd mean, second;
  Eigen::ArrayXXd cross;
  Eigen::ArrayXXd between;  ///< of two sequences; empty for a batch of one
};

/// Of one sequence, and how many sequences.
struct Counts {
  double tokens = 1, batch = 1;
  double samples() const { return tokens * batch; }
};

/// Means over tokens and over pairs of different tokens: what a Site shows.
template <class N>
const Alike<N>& average(const Alike<N>& x) {
  return x;
}
Alike<double> average(const PerPosition& x);

/// The gradient's second moment of one weight entry, loss summed over all tokens, between an input
/// x and an output gradient g: B [T m g + T (T-1) r k] + B (B-1) T^2 r_b k_b
/// (docs/theory/layers.md#weight-gradient).
template <class N>
N token_sum(const Alike<N>& x, const Alike<N>& g, const N& tokens, const N& batch) {
  return batch * (tokens * x.second * g.second + tokens * (tokens - 1) * x.cross * g.cross) +
         batch * (batch - 1) * tokens * tokens * x.between * g.between;
}
/// Positions keep their number where they are pooled into one token.
double token_sum(const PerPosition& x, const PerPosition& g, double tokens, double batch);

/// Of one token's pairs with all samples, itself included.
template <class N>
N row_sum(const Alike<N>& x, const N& tokens, const N& batch) {
  return x.second + (tokens - 1) * x.cross + (batch - 1) * tokens * x.between;
}
inline double row_sum(const Alike<double>& x, const Counts& counts) {
  return row_sum(x, counts.tokens, counts.batch);
}
/// The average of x_t x_u over pairs of different samples, of which there are two or more.
inline double mean_of_pairs(const Alike<double>& x, const Counts& counts) {
  return row_sum(Alike<double>{x.mean, 0, x.cross, x.between}, counts) / (counts.samples() - 1);
}

}  // namespace scalecalc::moments
