#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "moments/mixture.hpp"
#include "scalecalc/non_negative.hpp"

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

/// The positions that a PerPosition state is kept at; what lies between is interpolated linearly.
struct Positions {
  std::int64_t tokens = 0;
  Eigen::ArrayXi at;              ///< rising; row t of a causal mask sees the keys 0..t
  Eigen::ArrayXd weight;          ///< of each in a sum over the tokens; adds up to `tokens`
  Eigen::ArrayXXd pairs;          ///< of each in a sum over t != s; adds up to tokens (tokens - 1)
  Eigen::MatrixXd interpolation;  ///< tokens x positions; empty when every position is there
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

// ---- pointwise rules ----------------------------------------------------------------------------

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

/// Seconds below 0, which orders left out make of what is about 0, become 0.
template <class C, class N>
Alike<N> with_positive_second(const C& calculus, Alike<N> x) {
  x.second = calculus.positive(x.second);
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

// ---- averages -----------------------------------------------------------------------------------

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
double token_sum(const PerPosition& x, const PerPosition& g, double tokens, double batch);

/// The same with x = 1 everywhere: g added up over all pairs of tokens.
template <class X>
typename X::Number pair_sum(const X& g, const typename X::Number& tokens,
                            const typename X::Number& batch) {
  using N = typename X::Number;
  return token_sum(each(g, [](const N&) { return N(1); }), g, tokens, batch);
}
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

// ---- what goes with the moments -----------------------------------------------------------------

/// The centred overlap x_t.x_u/n of two tokens: how far a draw of the weights moves it
/// (docs/theory/attention.md#overlap). On the stream `noise` is 0 and `coherent` the standard
/// deviation s; inside a branch, `coherent` is its slope K times the s at the branch's start (it
/// moves with the stream), `noise` the variance that the branch added by itself.
template <class N>
struct Overlap {
  N coherent{}, noise{};
  N variance() const { return coherent * coherent + noise; }  ///< V, the variance
};

/// Finite width: relative variances, over weight draws, of the realised average of x^2; they are
/// kept as variances of its logarithm, which differ once they are not small.
struct Spread {
  /// Of one token's average over features (2/n of it is a Gaussian draw's own).
  NonNegative one = 0;
  NonNegative all = 0;  ///< of the average over features and tokens
  double shift = 0;     ///< relative change of the mean of x^2
  double pull = 1;      ///< d ln E x^2 / d ln of that at the start of the branch
  /// `one` less the covariance of x_t.x_t and x_t.x_u, both relative; 0 where they stray as one.
  double slack = 0;
  /// Of x^2, the share whose mean over features strays: none after a layernorm.
  double level = 1;
  /// Variance of ln D, D = E x^2 - E x_t x_s averaged over a pass's tokens.
  NonNegative apart = 0;
  /// Of a Gaussian feature's scatter of its variance over samples: none after a norm over samples.
  double scatter = 1;
  double skew = 0;         ///< third cumulant over samples, of variance 1: an activation's own
  NonNegative uneven = 0;  ///< relative variance of E x^2 over positions: borders of an image
  /// Where draws have parted ways: ln of E x^2, beside infinite width, of a draw far up.
  double far = 0;
  double apart_tie = 0;  ///< covariance of ln D and of the logarithm that `all` is the variance of
  /// d ln E x^2 / d ln D of the start of the branch, at the same E x^2 there: attention's sum of
  /// tokens is the larger the more these are alike.
  double lean = 0;
  NonNegative leaning = 0;  ///< what that adds to `all` of a sum, all tokens together
};

/// Of a gradient's second, the part along two directions that a norm takes out, in units of 1/n: of
/// the ones, and of x itself. A random direction has 1 of each; below a norm they are 0.
struct Levels {
  double mean = 1, radial = 1;
};

/// How far a rule may be off, relative to `second` and to `second` again for the cross.
struct Doubt {
  NonNegative second = 0, cross = 0;
  NonNegative mean = 0;  ///< of E x beside that, relative to the root of `second`
};

/// Above an activation the gradient knows x, by E[x_t x_u phi'(x_t) phi'(x_u)] times what came to
/// phi, x about its mean.
template <class X>
struct Tie {
  X input;                   ///< E x_t x_u of that
  X product;                 ///< E x_t g_t x_u g_u
  double slope_scatter = 0;  ///< Var(phi'^2)/(E phi'^2)^2
};

/// In a plain stack: what a gradient's size, over weight draws, has of the signal's at the same
/// place.
struct Follow {
  double sense = 0;  ///< d ln E (dL/dx)^2 / d ln E x^2
  /// E of two tokens' product over E of one's square, beside what it is at the logits.
  double tie = 1;
  /// E of the squared cosine of two tokens' gradients as a draw has them: few logits, and then few
  /// features, make independent ones overlap.
  double parallel = 0;
  /// The weights that made u carry phi'(u) g back along x as u phi' g has it: E u^2 phi'^2/(q E
  /// phi'^2) - 1 of the activation below, and E of the squares that such parts are of x.
  double bent = 0, along = 0;
  double more = 1;  ///< E g^2 with such parts over E g^2 without
};

/// Covariance, over weight draws, of ln sum_t |g_t|^2 and ln |sum_t g_t|^2 of a gradient, and how
/// the two follow what they were where the branch ends (strays.hpp).
struct Strays {
  Eigen::Matrix2d now = Eigen::Matrix2d::Zero();
  Eigen::Matrix2d since = Eigen::Matrix2d::Identity();
};

/// dk/dr of one kind of pair, k = E g_t g_u of a gradient in the overlap r at the same place.
struct OverlapSlope {
  double own = 0;     ///< in what the layers of this branch add to the overlap (Overlap::noise)
  double stream = 0;  ///< in the stream's part of it: of k, per standard deviation of that
  OverlapSlope operator+(const OverlapSlope& other) const {
    return {own + other.own, stream + other.stream};
  }
};
/// Of two tokens of one sequence, and of tokens of two.
struct OverlapSlopes {
  OverlapSlope within, between;
  OverlapSlopes operator+(const OverlapSlopes& other) const {
    return {within + other.within, between + other.between};
  }
  template <class F>
  OverlapSlopes each(const F& f) const {
    return {f(within), f(between)};
  }
};

/// Everything that travels backward. Its spread is that of (dL/dx)^2. The loss sees x through the
/// same weights that its gradient comes back by, so the gradient has a part `aligned` x_t beside
/// what is random (docs/theory/layers.md#head-weights, followed further down as
/// docs/theory/attention.md#aligned).
template <class X>
struct Gradient {
  X x;
  Spread spread{};
  Doubt error{}, truncation{};
  typename X::Number aligned{};
  /// Variance over features of what multiplies a feature's own x: (W^T W)_ii is not the same for
  /// all, and a norm takes out the mean alone.
  double uneven = 0;
  Levels levels{};
  std::optional<Tie<X>> tie{};     ///< as far up as nothing but sums lie between
  std::optional<Follow> follow{};  ///< of plain stacks, up from the logits
  Strays strays{};                 ///< of all others, up from the logits
  KindGradient kinds{};            ///< of the kinds of features there
  double equal_words = 0;          ///< E g_t g_u of two equal words over E g^2
  double alive = 1;                ///< share of the features that there is any for
  double few = 0;                  ///< share that a norm over samples has no E 1/variance for
  OverlapSlopes slopes{};
};

/// Everything that travels forward. X is Alike<N> or PerPosition.
template <class X>
struct Signal {
  using Number = typename X::Number;
  X x;
  std::int64_t width = 0;   ///< features
  std::int64_t tokens = 0;  ///< of one sequence
  Overlap<Number> overlap;
  Spread spread;
  double kurtosis = 3;  ///< E x^4/(E x^2)^2 of a feature; 3 behind weights
  Mixture mixture;      ///< of features behind dropout, until weights mix them
  /// Right behind an activation that is constant somewhere: its name, and its input's averages.
  std::optional<std::pair<std::string, Alike<double>>> flat;
  double repeats = 0;       ///< chance that two tokens of a sequence are the same word
  double triples = 0;       ///< that three are
  double different = 0;     ///< how many different words a sequence has
  bool same_words = false;  ///< tokens of the same word are equal
  bool normalised = false;  ///< by a layernorm or rmsnorm right before: |x| does not fluctuate
  Doubt error, truncation;  ///< from how primitives are computed; from orders left out
};

}  // namespace scalecalc::moments
