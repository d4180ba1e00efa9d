#pragma once

#include <algorithm>
#include <optional>

#include "moments/equal_words.hpp"
#include "moments/gradient_error.hpp"
#include "moments/loss_gradient.hpp"
#include "moments/own_word.hpp"
#include "moments/pointwise.hpp"
#include "moments/signal.hpp"

/// phi(y) = c tanh(y/c) of Gaussian y, before a softmax (docs/theory/attention.md#softcap).
namespace scalecalc::moments {

/// Of y of mean 0 and this variance.
struct CapMoments {
  double second = 0;       ///< E phi^2
  double slope = 1;        ///< E phi'^2
  double own = 0;          ///< E phi^2 phi'^2
  double bend = 0;         ///< E phi'' phi
  double tilted_bend = 0;  ///< E phi'' e^phi / E e^phi
};
CapMoments cap_moments(double cap, double variance);
/// E phi(u)phi(v) and E phi'(u)phi'(v) of two of this variance and covariance.
struct CapPair {
  double cross = 0, slope = 1;
};
CapPair cap_pair(double cap, double variance, double covariance);
/// E phi, E phi', E phi^2 and E phi'^2 of y of this mean and variance.
struct CapMean {
  double value = 0, slope = 1, second = 0, slope_second = 1;
};
CapMean cap_mean(double cap, double mean, double variance);

/// Of the softmax p of many capped logits, independent and of one variance, and a class t that is
/// drawn: `square`, E (p_k - t_k)^2 phi'_k^2, and `hessian`, E p_k (1 - p_k) phi'_k^2, each over E
/// phi'^2 times what Gaussian logits of the variance E phi^2 have without a cap; `bend`, E p_k
/// phi''_k.
struct CappedLoss {
  double square = 1, hessian = 1, bend = 0;
};
/// Nothing where the cap is far inside of the logits' deviation, and where that is past 33.
std::optional<CappedLoss> capped_loss(double cap, double variance, double classes);

/// What a cap does to scores whose keys share the part `shared` of their variance: the variance
/// over keys is multiplied by `forward`, and gradients' squares by `backward`.
struct ScoreCap {
  double forward = 1, backward = 1;
  double together = 1;  ///< of two keys' slopes, E phi'phi'/E phi'^2
  double omitted = 0;   ///< relative
};
ScoreCap score_cap(double cap, double variance, double shared);

/// Logits behind their cap, and what gradients with respect to them become in front of it.
template <class X>
struct CappedLogits {
  Signal<X> logits;
  X slopes;
  CapMean own{};  ///< of the words' own logits behind a tied head
  double own_variance() const { return std::max(0.0, own.second - own.value * own.value); }
};

/// Of a tied head the own word's logit has a mean, which is V times that of all.
template <class C, class X>
CappedLogits<X> cap_logits(C& calculus, const Network& network, const Signal<X>& signal) {
  using N = typename C::Number;
  using T = Token<N>;
  const double cap = network.logit_softcap, classes = static_cast<double>(network.classes);
  const double same = is_tied(network) ? own_collision(network) : 0;
  const auto rest = [&](const T& u) {
    const double mean = calculus.value(u.mean);
    return std::max(0.0, calculus.value(u.second) - classes * mean * mean);
  };
  const auto own = [&](const T& u) {
    return cap_mean(cap, classes * calculus.value(u.mean), rest(u)).value;
  };
  const auto of_pair = [&](const T& t, const T& u, const N& cross) {
    const double means = same * classes * calculus.value(t.mean) * calculus.value(u.mean);
    return cap_pair(cap, std::sqrt(rest(t) * rest(u)), calculus.value(cross) - means);
  };
  CappedLogits<X> made{signal, signal.x};
  if (is_tied(network)) {
    const Alike<double> y = values_of(calculus, signal.x);
    const double mean = classes * y.mean,
                 others = std::max(0.0, y.second - classes * y.mean * y.mean);
    const auto width = static_cast<double>(head_of(network).fan_in);
    made.own = cap_mean(cap, mean, own_word_variance(mean, others, width));
  }
  made.logits.x = map(
      signal.x,
      [&](const T& u) {
        const double mean = own(u) / classes;
        const double second = cap_moments(cap, rest(u)).second + classes * mean * mean;
        return T{calculus.real(mean), calculus.real(second)};
      },
      [&](const T& t, const T& u, const N& cross) {
        const double means = same * own(t) * own(u) / classes;
        return calculus.real(of_pair(t, u, cross).cross + means);
      });
  made.slopes = map(
      signal.x,
      [&](const T& u) {
        return T{N(0), calculus.real(cap_moments(cap, rest(u)).slope)};
      },
      [&](const T& t, const T& u, const N& cross) {
        return calculus.real(of_pair(t, u, cross).slope);
      });
  const N slope = average(made.slopes).cross;
  made.logits.overlap.coherent = made.logits.overlap.coherent * slope;
  made.logits.overlap.noise = made.logits.overlap.noise * slope * slope;
  return made;
}

/// The gradient in front of the cap; `weight` is that of a token in the loss.
template <class C, class X>
void through_cap(C& calculus, const Network& network, const Signal<X>& before,
                 const CappedLogits<X>& capped, double weight, LossGradient<X>& loss) {
  using N = typename C::Number;
  const double cap = network.logit_softcap, classes = static_cast<double>(network.classes);
  const Alike<double> y = values_of(calculus, before.x), z = values_of(calculus, capped.logits.x);
  const double rest = std::max(0.0, y.second - classes * y.mean * y.mean);
  const double rest_behind = z.second - classes * z.mean * z.mean;
  const CapMoments of = cap_moments(cap, rest);
  loss.logits = product(loss.logits, capped.slopes);
  // The word's own logit is bent by its mean, as the others are not.
  const double bent_own = loss.own_square * (capped.own.slope_second - of.slope);
  if (loss.equal_words)
    loss.equal_words =
        equal_with(*loss.equal_words, values_of(calculus, loss.logits).second, bent_own);
  loss.logits =
      sum(loss.logits, uniform(loss.logits, Alike<N>{N(0), calculus.real(bent_own), N(0), N(0)}));
  if (loss.slopes) {
    const double by = values_of(calculus, capped.slopes).between;
    loss.slopes = product(*loss.slopes, product(capped.slopes, capped.slopes));
    loss.own.of_words *= by * by;
  }
  const bool is_mse = network.loss == Loss::mse;
  if (is_mse) {
    // (phi - t) phi', where phi knows phi'.
    const double more = weight * weight * (of.own - of.second * of.slope);
    loss.logits =
        sum(loss.logits, uniform(loss.logits, Alike<N>{N(0), calculus.real(more), N(0), N(0)}));
  }
  const double along = loss.own.along;
  const CapMean& own = capped.own;
  if (z.mean != 0 && rest > 0) {
    loss.own.along *= own.slope * y.mean / z.mean * rest_behind / rest;
    loss.own.word *= own.slope;
    loss.own.one_kind = std::max(loss.own.one_kind, 1 - std::clamp(own.slope, 0.0, 1.0));
  }
  const N others = loss.hessian - calculus.real(along);
  std::optional<CappedLoss> known;
  if (!is_mse && !is_tied(network)) known = capped_loss(cap, rest, classes);
  double bend = weight * (is_mse ? of.bend : of.tilted_bend / classes);
  if (known) bend = weight * known->bend;
  const double slope = of.slope * (known ? known->hessian : 1);
  loss.hessian = others * calculus.real(slope) + calculus.real(loss.own.along + bend);
  // The softmax knows which of its logits are bent most: of one token it is counted.
  const double bent = 4 * rest / (cap * cap), omitted = bent / (1 + bent);
  if (known)
    loss.logits =
        product(loss.logits,
                uniform(loss.logits, Alike<N>{N(1), calculus.real(known->square), N(1), N(1)}));
  else
    loss.truncation.second += omitted * omitted;
  loss.truncation.cross += omitted;
  calculus.assume("softcap", "a cap bends few of the logits", "4 Var y/c^2", bent, 0.1);
}

}  // namespace scalecalc::moments
