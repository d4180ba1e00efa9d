#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "moments/drop_path.hpp"
#include "moments/fluctuations.hpp"
#include "moments/image_profile.hpp"
#include "moments/mixture.hpp"
#include "moments/overlap_lags.hpp"
#include "moments/seldom.hpp"
#include "moments/state.hpp"

/// What travels forward.
namespace scalecalc::moments {

struct StreamCells;
struct StreamLaw;

/// An activation's name, and its input's averages; `gate`: of a gated unit. `size_variance`: of
/// ln q, q the variance of the features of one token's input given the layer before.
struct ActivationInput {
  std::string function;
  Alike<double> input;
  bool gate = false;
  NonNegative size_variance = 0;
  std::shared_ptr<const StreamCells> cells{};  ///< of an input that is not Gaussian
};

/// An activation in a sum; `left`: of what samples of the sum differ by, what its branch has.
struct SummedActivation {
  ActivationInput activation;
  NonNegative left = 0;
};

/// Inside a branch without weights so far: E x_t F_u about the means, of the branch's input x and
/// the signal F (docs/theory/layers.md#kept-input).
template <class X>
struct WithInput {
  X product;
  NonNegative left_out = 0;  ///< relative
};

/// What the weights p of attention make a feature's x_t x_u vary by from draw to draw, over D^2: of
/// one feature, and of the average over features, which is in V. Right behind attention a feature
/// has the p of one head; weights mix those of all.
struct HeadOverlap {
  double one = 0, average = 0;
  double sizes = 0;  ///< relative variance over tokens of what p.p makes each differ by from others
};

/// Features of two kinds side by side: this share of them are `left`. Of a feature drawn from both,
/// E x^4/(E x^2)^2 is `unequal` times that of features of one size.
struct Populations {
  double share = 1;
  Alike<double> left, right;
  double unequal = 1;
};

/// Everything that travels forward. X is Alike<N> or PerPosition.
template <class X>
struct Signal {
  using Number = typename X::Number;
  X x;
  std::int64_t width = 0;  ///< features
  /// The fewest features that the signal has had before its last weights; 0: there were none.
  std::int64_t narrowest = 0;
  /// The chance that a token is 0, as all features that weights without a bias read were; right
  /// behind an activation, of what it was given.
  NonNegative none = 0;
  std::int64_t tokens = 0;  ///< of one sequence
  /// Of a network with a tied head: E x_t e_t (as its second), e the embedding of the token's word,
  /// while a part of it is left.
  std::optional<X> own{};
  Overlap<Number> overlap;
  /// Of the variance of x_t.x_u/n, what these n features make as draws of the weights right before,
  /// D^2/n of normal ones: not in `overlap` until `settle`, as an activation counts its own.
  double fresh = 0;
  Seldom<OverlapLags> overlap_lags;  ///< of `overlap`; empty: pairs of tokens are independent
  NormVariance spread;
  double kurtosis = 3;  ///< E x^4/(E x^2)^2 of a feature; 3 behind weights
  /// Until weights mix features: what E (E x_t)(E x_u), over the sizes of two tokens, has beside
  /// the square of the mean.
  double mean_pairs = 0;
  /// Right behind weights: what two tokens' fourth cumulant has of them (weight_cumulant of a
  /// layer), and the fourth moment of what they read; 0 of normal weights.
  double weight_cumulant = 0, input_kurtosis = 3;
  /// Relative variance of a feature's size over the samples beyond that of Gaussian features, which
  /// have 2/n: none of it is left behind a norm over samples, until weights mix them.
  double size_excess = 0;
  /// Of it, what two samples have together: they are of a point of a sphere.
  double sphere_excess = 0;
  /// Right behind weights: V/D^2 of what they mix. Features differ in size by 2 V/D^2 more than n
  /// samples make them.
  double map_overlap = 0;
  HeadOverlap head_overlap;
  /// Behind a norm over samples: what is not known of the difference that it has divided by, and so
  /// of how tokens differ in size, relative; until a norm over tokens.
  NonNegative unknown_sizes = 0;
  /// Of the variance V of overlaps, what the mask of one token makes, and the mean of its features
  /// where weights have mixed them since (overlap_of_tokens).
  double mask_overlap = 0;
  Mixture mixture;                       ///< of features behind dropout, until weights mix them
  std::optional<ActivationInput> flat;   ///< right behind an activation
  std::shared_ptr<const StreamLaw> law;  ///< of a feature, where an activation and a branch add up
  std::optional<SummedActivation> summed;  ///< right behind a sum of one and a branch
  /// d ln E x^2/d ln |c|^2 of the condition c, whose size factors of all layers follow.
  double by_condition = 0;
  double repeats = 0;       ///< chance that two tokens of a sequence are equal
  double triples = 0;       ///< that three are
  double different = 0;     ///< how many different ones a sequence has
  double collision = 0;     ///< chance that two are the same word, of which some may differ
  bool same_words = false;  ///< tokens of the same word are equal, as often as `repeats` says
  bool sinusoids = false;   ///< fixed ones are a part of it, of a size of its own in each feature
  bool normalised = false;  ///< by a layernorm or rmsnorm right before: |x| does not fluctuate
  /// Of the branches that it is in, the outermost first; empty once weights have mixed features.
  Seldom<std::vector<WithInput<X>>> with_inputs;
  Seldom<Populations> populations;  ///< right behind a concatenation
  Seldom<DroppedPaths> dropped;     ///< what drop path makes samples differ by
  Profile profile;                  ///< of the positions of an image, where they are not alike
  RelativeError error, truncation;  ///< from how primitives are computed; from orders left out
};

/// The variance that n features y, new draws of weights of this `noise`, add to x_t.x_u/n.
inline double fresh_overlap(const Alike<double>& y, double noise, double width) {
  const double apart = y.second - y.cross;
  return apart * apart / width * (noise / 2);
}

/// Of V, what a mean mu of the features makes: x_t.x_u/n has mu times the mean features of both
/// tokens, each independent of the others' features about their means: 2 mu^2 D^2/((m - mu^2) n).
inline double overlap_of_mean(const Alike<double>& x, double width) {
  const double square = x.mean * x.mean, centred = x.second - square, apart = x.second - x.cross;
  return centred > 0 ? 2 * square * apart * apart / (centred * width) : 0;
}

/// Of V, what each token makes by itself, by its mask and by the mean of its features: it is the
/// same with all others and drops out of overlaps about the mean over tokens.
template <class X>
double overlap_of_tokens(const Signal<X>& x) {
  const double of_mean = overlap_of_mean(average(x.x), static_cast<double>(x.width));
  return x.mask_overlap + std::min<double>(of_mean, x.overlap.variance());
}

/// What the features drawn last make of overlaps, into these (docs/theory/attention.md#overlap).
template <class X>
void settle(Signal<X>& x) {
  if constexpr (std::is_same_v<typename X::Number, double>) {
    if (x.overlap_lags && x.fresh > 0)
      x.overlap_lags =
          mixed_lags(*x.overlap_lags, x.overlap.variance(), squared_lags(*x.overlap_lags), x.fresh);
    x.overlap.noise += std::exchange(x.fresh, 0.0);
  }
}

/// Where branches begin, all that overlaps have so far moves what all of them make: the deviation
/// of their noise becomes a part of the coherent one. Back, dk/dr is one number for both parts.
struct MergedOverlap {
  double coherent = 1;  ///< what was coherent, over the whole
  double whole = 0;     ///< V^(1/2)
};
template <class X>
MergedOverlap merge_overlap(Signal<X>& x) {
  MergedOverlap made;
  if constexpr (std::is_same_v<typename X::Number, double>) {
    made.whole = std::sqrt(x.overlap.variance());
    if (!(made.whole > 0)) return made;
    made.coherent = x.overlap.coherent / made.whole;
    x.overlap = {made.whole, 0};
  }
  return made;
}

}  // namespace scalecalc::moments
