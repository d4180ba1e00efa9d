#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <vector>

#include "moments/fluctuations.hpp"
#include "moments/image_profile.hpp"
#include "moments/mixture.hpp"
#include "moments/seldom.hpp"
#include "moments/state.hpp"
#include "moments/stream_law.hpp"
#include "moments/value_scatter.hpp"

/// What travels backward: the moments of dL/dx, and what is known of its fluctuations.
namespace scalecalc::moments {

/// Of a gradient's second moment, the part along the directions that norms project out, in units of
/// 1/n: the ones, and x itself, over a token's features; x of one feature over the samples. A
/// random direction has 1 of each; below a norm they are 0.
struct NormDirections {
  double mean = 1, radial = 1, samples = 1;
};

/// Correlation of a gradient with the pre-activation below it: above an activation the gradient
/// knows x, by E[x_t x_u phi'(x_t) phi'(x_u)] times what came to phi, x about its mean.
template <class X>
struct SlopeCorrelation {
  X input;                    ///< E x_t x_u
  X product;                  ///< E x_t g_t x_u g_u
  double slope_variance = 0;  ///< Var(phi'^2)/(E phi'^2)^2
};

/// Below an activation that a max pool is right behind.
template <class X>
struct BelowActivation {
  X x;                                    ///< the gradient
  SlopeCorrelation<X> slope_correlation;  ///< of the activation's input
  Alike<double>
      beside{};  ///< of E g^2, E g_t g_u at the activation, what has come past the windows
};

/// Coupling of backward to forward fluctuations in a plain stack: what ln E (dL/dx)^2, over weight
/// draws, has of ln E x^2 at the same place.
struct SignalCoupling {
  double sensitivity = 0;  ///< d ln E (dL/dx)^2/d ln E x^2
  /// (E g_t g_u/E g^2) here over that at the logits.
  double token_ratio = 1;
  /// E cos^2 of two tokens' gradients in one draw: few logits, and then few features, make
  /// independent ones overlap.
  double squared_cosine = 0;
  /// E u^2 phi'^2/(q E phi'^2) - 1 of the activation below: the weights that made u carry phi'(u) g
  /// back along x as u phi' g has it.
  double slope_excess = 0;
  double aligned_square = 0;  ///< E a^2 of such parts a x of the gradient
  double size_ratio = 1;      ///< E g^2 with such parts over E g^2 without
};

/// Covariance, over weight draws, of ln sum_t |g_t|^2 and ln |sum_t g_t|^2 of a gradient
/// (log_covariance.hpp).
struct LogCovariance {
  Eigen::Matrix2d value = Eigen::Matrix2d::Zero();
  /// d of both logarithms by both where the branch ends.
  Eigen::Matrix2d propagator = Eigen::Matrix2d::Identity();
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

/// What a norm over samples right above an activation takes along its output y, which phi' goes
/// with: of phi'^2 y^2 beside phi'^2, and of phi'(u)y_u phi'(v)y_v, times what it takes.
struct SlopeTie {
  double second = 0, cross = 0;
  bool between = false;  ///< of two sequences too
};

/// Below a tied head a gradient has, beside `aligned` x, a part along its token's word
/// (docs/theory/layers.md#own-word).
struct OwnWord {
  double word = 0;   ///< of the embedding of the token's word
  double along = 0;  ///< of x, what `word` has along it; known to the head and its norm
  /// Chance that two tokens are the same word; less what the words that are not the token's have,
  /// as a softmax's gradient adds up to 0: (1 - chance)/(V - 1).
  double same = 0;
  /// r of two tokens of one word less that of two words, over E x^2; times (V - 1)/V likewise.
  double overlap = 1;
  double run = 0;      ///< without that factor
  double scatter = 0;  ///< relative variance of `word` over tokens
  double targets = 0;  ///< what targets add to that, each token's by itself
  /// How far dk/dr of the logits is that of pairs of all kinds together: of a squared error wholly,
  /// behind a cap by what the slope of the word's own logit is less than 1.
  double one_kind = 0;
  double of_words = 0;  ///< of dk/dr of two sequences, what pairs of one word make beside chance
  double seen = 0;      ///< E[h e] of the head's input times E g of the word's own logit
  bool normed = false;  ///< behind a norm: nothing is left along the head's input of one token

  /// Through a skip of this multiplier.
  void multiply(double skip) {
    word *= skip;
    of_words *= skip * skip * skip * skip;
  }
  /// What a norm takes from dk/dr of pairs that overlap by chance.
  double slope_across_chance(double aligned, bool at_head) const {
    const double whole = at_head ? aligned : aligned + along;
    return -whole * whole;
  }
  /// What a norm takes from dk/dr. Pairs of one word against pairs of two make `words` of the
  /// variance of overlaps, the rest is chance, of which the head's slopes have `aligned` alone.
  double slope_across(double aligned, double words, bool at_head) const {
    const double whole = at_head ? aligned : aligned + along;
    if (word == 0 || !(overlap > 0)) return -aligned * aligned;
    const double of_words =
        along * along * (1 - 2 / overlap) - aligned * aligned - 2 * aligned * along / overlap;
    return words * of_words - (1 - words) * whole * whole;
  }
};

/// Below a mean p over `tokens` of a sequence (of those behind class tokens: `others`): along
/// weight p - less x_t. Without a mean along x_t itself.
struct AlongMean {
  double tokens = 0;
  bool others = false;
  double less = 0, weight = 1;
  explicit operator bool() const { return tokens > 0; }
};

/// Of the one token of a sequence that a head reads, right below that: the part `aligned` x of its
/// gradient, and `uneven` of it, as in Gradient (docs/theory/layers.md#read-token).
struct ReadToken {
  double aligned = 0, uneven = 0;
  double radial = 1;  ///< NormDirections::radial of the rest
  bool last = false;  ///< else the first
};

/// Inside a branch without weights above: E g'_t g_u of the gradient g' that came to the sum and
/// this one (docs/theory/layers.md#kept-input).
template <class X>
struct WithSum {
  X product;
  double along = 0;          ///< what of g' is along the signal here, as Gradient::aligned
  NonNegative left_out = 0;  ///< relative
};

/// What E g^2 is of features of two kinds side by side, over that of all.
struct PopulationGradient {
  double left = 1, right = 1;
};

/// Everything that travels backward; `spread` is that of (dL/dx)^2. The loss sees x through the
/// same weights that its gradient comes back by, so the gradient has a part `aligned` x_t beside
/// what is random (docs/theory/layers.md#head-weights, followed further down as
/// docs/theory/attention.md#aligned).
template <class X>
struct Gradient {
  X x;
  NormVariance spread{};
  RelativeError error{}, truncation{};
  typename X::Number aligned{};
  AlongMean along_mean{};  ///< what `aligned` goes with in the place of x_t
  /// Inside an expert, whose part along x_t not all tokens have alike: E a_t^2 and E a_t a_u of its
  /// coefficients over the square of `aligned`, their mean.
  Seldom<X> aligned_squares{};
  /// K of the part sum_u K_tu x_u, of which `aligned` is that of a token's own x
  /// (along_tokens.hpp); empty where other tokens have none, or it is not followed.
  Seldom<X> along_tokens{};
  Seldom<ReadToken> read_token{};
  OwnWord own{};
  /// Variance over features of what multiplies a feature's own x: (W^T W)_ii is not the same for
  /// all, and a norm takes out the mean alone.
  double uneven = 0;
  /// Right below attention: what (sum_t x_t g_t)^2 of a feature has beyond the products of pairs
  /// (docs/theory/layers.md#norm-gain).
  double beyond_pairs = 0;
  NormDirections directions{};
  /// Right below an activation phi of normalised u: the mean over features that the part along phi
  /// has, a E phi phi'.
  double feature_mean = 0;
  /// Mean over features and tokens beside that of the part along x: where g is along a sum, of what
  /// the sum's other part has for its mean; 0 below weights.
  double mean_beyond = 0;
  /// As far up as nothing but sums lie between.
  Seldom<SlopeCorrelation<X>> slope_correlation{};
  std::optional<SignalCoupling> coupling{};  ///< of plain stacks, up from the logits
  LogCovariance log_covariance{};            ///< of all others, up from the logits
  KindGradient kinds{};                      ///< of the kinds of features there
  double equal_words = 0;                    ///< E g_t g_u of two equal words over E g^2
  double alive = 1;                          ///< share of the features that there is any for
  double few = 0;  ///< share that a norm over samples has no E 1/variance for
  /// Right below a norm over samples: what features that are the same at all of them have of the
  /// average over all features. The activation that made them so hands nothing of it on.
  Seldom<X> at_constant{};
  /// E phi'^2/s^2 of the activation below, beside the product of means: s^2 of a feature's samples.
  double slope_scatter = 1;
  bool by_slopes = false;  ///< below a function of each entry, with nothing but sums between
  /// E g^2 of a token falls as this power of its |x|^2, by which a norm above has divided it.
  double follows_size = 0;
  /// d ln E g^2/d ln |x|^2 of a token, where no norm has made tokens of one size; of a sum the
  /// largest of its parts.
  double size_exponent = 1;
  /// The same as `follows_size` of the stream's sizes, at a sum and in its branches, that all of a
  /// sample shares: of drop path.
  double size_power = 0;
  double of_kept = 1;       ///< at a branch's end: E b^2 g^2 over E b^2 E g^2 of drop path's b
  double by_condition = 0;  ///< d ln E g^2/d ln |c|^2, as in Signal
  std::optional<SlopeTie> tie{};
  Seldom<PopulationGradient> of_populations{};  ///< below a norm right behind a concatenation
  Seldom<ValueScatter> of_values{};             ///< of such a norm right above the activation
  OverlapSlopes slopes{};
  /// Below an activation that another is right in front of: what is below both, their slopes
  /// averaged together.
  std::shared_ptr<const Gradient<X>> below_chain{};
  /// Below an activation that a max pool is right behind: the largest have slopes of their own.
  Seldom<BelowActivation<X>> below_activation{};
  /// Of the feature that it is of, as far up as nothing but sums and activations lie between.
  Seldom<StreamGradient> of_stream{};
  /// Of the branches that it is in, the outermost first; empty below weights.
  Seldom<std::vector<WithSum<X>>> with_sums{};
  Profile profile{};  ///< as in Signal, of E g^2
};

/// What the part along x has of E x_t x_u, over the square of `aligned`.
template <class X>
X by_squares(const Gradient<X>& g, const X& of) {
  return g.aligned_squares ? product(of, *g.aligned_squares) : of;
}

/// Below a layer that gives a token other tokens' gradients: nothing is known of a token's own x.
template <class X>
void forget_tokens(Gradient<X>& g) {
  g.kinds = {};
  g.slopes = {};
  g.uneven = g.beyond_pairs = 0;
  g.follows_size = g.size_power = 0;
  g.aligned = typename X::Number(0);
  g.along_mean = {};
  g.aligned_squares.reset();
  g.along_tokens.reset();
}

/// What the layers of cross-attention visited so far give the memory, and how far the gradient of
/// the stream had fluctuated at the last of them.
template <class X>
struct MemoryGradient {
  Gradient<X> sum;
  LogCovariance last;
  double gain = 0;  ///< a of what comes back along the memory, a P^T P x of each layer, added up
};

}  // namespace scalecalc::moments
