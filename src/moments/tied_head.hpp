#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "moments/loss_gradient.hpp"
#include "moments/own_word.hpp"
#include "moments/words.hpp"

/// Cross-entropy behind a tied head (docs/theory/layers.md#tied-head): the softmax is that of V - 1
/// logits of variance tau2 and of the own word's, M beside noise.
namespace scalecalc::moments {

template <class C, class X>
class TiedSoftmax {
 public:
  /// `own_variance`: of the own word's logit, where a cap has made it another than that of plain
  /// ones.
  TiedSoftmax(C& calculus, const Network& network, const Signal<X>& logits,
              std::optional<double> own_variance)
      : calculus_(calculus),
        own_variance_(own_variance),
        classes_(static_cast<double>(network.classes)),
        width_(static_cast<double>(head_of(network).fan_in)),
        same_(own_collision(network)),
        equal_(logits.same_words ? equal_share(logits) : 0),
        tau2_(variance_of_others(values_of(calculus, logits.x), classes_)),
        prepared_(calculus.softmax_head(network.classes - 1, tau2_)) {
    p2_ = calculus.softmax_second(prepared_, tau2_);
    log_sum_ = calculus.log_sum(network.classes - 1, tau2_);
    sum_variance_ = log_sum_variance(tau2_, overlap(0), overlap(tau2_ / 2), p2_);
  }

  double tau2() const { return tau2_; }

  /// Of a token whose logits have this mean, M/V.
  const OwnShare& share(double mean) {
    const auto known = shares_.find(mean);
    if (known != shares_.end()) return known->second;
    return shares_[mean] = own_share(own(mean) - log_sum_, own_noise(mean) + sum_variance_);
  }
  /// E sum p^2.
  double second(double mean) {
    const OwnShare& p = share(mean);
    return p.square + rest_square(p) * p2_;
  }
  /// E ln sum e^y - E y at a target, any word as likely.
  double loss(double mean) { return log_sum_ + share(mean).log_sum - mean; }
  /// E sum_v (p_v - 1/V) y_v: what the gradient is along the logits. `own`: of that what the mean
  /// of the own word's makes.
  double along(double mean, double& own_part) {
    const OwnShare& p = share(mean);
    own_part = own(mean) * (p.mean - 1 / classes_);
    return own_part + own_noise(mean) * (p.mean - p.square) +
           tau2_ * (1 - p.mean - rest_square(p) * p2_);
  }

  /// Relative variance of p - 1/V of the own word.
  double scatter(double mean) {
    const OwnShare& p = share(mean);
    const double shift = p.mean - 1 / classes_;
    return shift != 0 ? (p.square - p.mean * p.mean) / (shift * shift) : 0;
  }

  /// Likewise of a target, which is the own word with the chance 1/V.
  double target_scatter(double mean) {
    const double chance = 1 / classes_, shift = share(mean).mean - chance;
    return shift != 0 ? chance * (1 - chance) / (shift * shift) : 0;
  }

  /// What two tokens' overlaps r and O = E sum p p' are where they are of one word and of two.
  struct Pair {
    double same = 0, apart = 0;
  };
  Pair logit_overlaps(double mean, double other, double cross) const {
    const double own = this->own(mean) * this->own(other);
    const double rest = cross - same_ * own / classes_;
    if (equal_ > 0) {
      const double of_all = equal_ * same_, two = (rest - of_all * tau2_) / (1 - of_all);
      return {two + equal_ * (tau2_ - two), two};
    }
    const double apart = rest - same_ * own / width_;
    return {std::min(apart + own / width_, tau2_), apart};
  }
  Pair overlaps(double mean, double other, const Pair& r) {
    const OwnShare p = share(mean), q = share(other);
    const double c = tau2_ > 0 ? std::clamp(r.same / tau2_, 0.0, 1.0) : 1;
    const double both = p.mean * q.mean + c * std::sqrt(std::max(0.0, p.square - p.mean * p.mean) *
                                                        std::max(0.0, q.square - q.mean * q.mean));
    const double neither = 1 - p.mean - q.mean + both, others = classes_ - 1;
    const double one = (p.mean * (1 - q.mean) + q.mean * (1 - p.mean)) / others;
    const double apart = (1 - p.mean) * (1 - q.mean) * overlap(r.apart) * (others - 1) / others;
    return {both + neither * overlap(r.same), apart + one};
  }
  /// dO/dr: over what words make of the variance of r, the secant between pairs of one word and of
  /// two; over the rest, chance, that of two words.
  struct Slope {
    double words = 0, chance = 0;  ///< which add up
  };
  Slope slope(double mean, double other, double cross, double variance) {
    const Pair r = logit_overlaps(mean, other, cross), o = overlaps(mean, other, r);
    const double run = r.same - r.apart;
    const double of_words = same_ * (1 - same_) * run * run;
    const double words = variance > 0 ? std::min(1.0, of_words / variance) : 1;
    const double step = tau2_ / 16;
    const double rise = (overlaps(mean, other, {r.same, r.apart + step}).apart -
                         overlaps(mean, other, {r.same, r.apart - step}).apart);
    const double chance = step > 0 ? rise / (2 * step) : 0;
    return {run > 0 ? words * ((o.same - o.apart) / run - chance) : -words * chance, chance};
  }
  double average(const Pair& of) const { return same_ * of.same + (1 - same_) * of.apart; }

 private:
  using Prepared = decltype(std::declval<C&>().softmax_head(1, 0.0));

  static double variance_of_others(const Alike<double>& logits, double classes) {
    return std::max(0.0, logits.second - classes * logits.mean * logits.mean);
  }
  double own(double mean) const { return classes_ * mean; }
  double own_noise(double mean) const {
    return own_variance_ ? *own_variance_ : own_word_variance(own(mean), tau2_, width_);
  }
  static double rest_square(const OwnShare& p) { return 1 - 2 * p.mean + p.square; }
  double overlap(double cross) { return calculus_.softmax_cross(prepared_, tau2_, tau2_, cross); }

  C& calculus_;
  std::optional<double> own_variance_;
  double classes_, width_, same_;
  double equal_;  ///< of the tokens of one word, how many are
  double tau2_;
  Prepared prepared_;
  double p2_ = 0, log_sum_ = 0, sum_variance_ = 0;
  std::map<double, OwnShare> shares_;
};

/// As cross_entropy_moments, with the loss of a token and the hessian.
template <class C, class X>
LossGradient<X> tied_cross_entropy(C& calculus, const Network& network, const Signal<X>& signal,
                                   std::optional<double> own_variance) {
  using T = Token<double>;
  const auto v = static_cast<double>(network.classes);
  const double targets = network.target_collision > 0 ? network.target_collision : 1 / v;
  TiedSoftmax<C, X> softmax(calculus, network, signal, own_variance);
  const auto gradient = [&](double overlap) { return (overlap - 2 / v + targets) / v; };
  LossGradient<X> made;
  made.logits = map(
      signal.x,
      [&](const T& u) {
        return T{0, (1 - 2 / v + softmax.second(u.mean)) / v};
      },
      [&](const T& t, const T& u, double cross) {
        const auto r = softmax.logit_overlaps(t.mean, u.mean, cross);
        return gradient(softmax.average(softmax.overlaps(t.mean, u.mean, r)));
      });
  made.own_square = softmax.share(values_of(calculus, signal.x).mean).square / v;
  const double variance = calculus.value(signal.overlap.variance());
  made.slopes = map(
      signal.x, [](const T&) { return T{}; },
      [&](const T& t, const T& u, double cross) {
        const auto slope = softmax.slope(t.mean, u.mean, cross, variance);
        return (slope.words + slope.chance) / v;
      });
  const X loss = map(
      signal.x,
      [&](const T& u) {
        return T{0, softmax.loss(u.mean)};
      },
      [](const T&, const T&, double) { return 0.0; });
  made.loss = average(loss).second;
  double own = 0;
  const X along = map(
      signal.x,
      [&](const T& u) {
        const double all = softmax.along(u.mean, own);
        return T{own, all};
      },
      [](const T&, const T&, double) { return 0.0; });
  const double unit = softmax.tau2() * v;
  if (unit > 0) {
    made.hessian = average(along).second / unit;
    const auto mean = values_of(calculus, signal.x);
    const auto r = softmax.logit_overlaps(mean.mean, mean.mean, mean.cross);
    const double same = softmax.overlaps(mean.mean, mean.mean, r).same;
    made.equal_words = gradient(same) / values_of(calculus, made.logits).second;
    made.own = {softmax.share(mean.mean).mean - 1 / v,
                average(along).mean / unit,
                own_collision(network) - (1 - own_collision(network)) / (v - 1),
                (r.same - r.apart) / softmax.tau2() * (v - 1) / v,
                softmax.scatter(mean.mean),
                softmax.target_scatter(mean.mean)};
    made.own.run = (r.same - r.apart) / softmax.tau2();
    made.own.of_words = softmax.slope(mean.mean, mean.mean, mean.between, variance).words / v;
  }
  return made;
}

}  // namespace scalecalc::moments
