#pragma once

#include <algorithm>
#include <cmath>

#include "moments/calculus.hpp"
#include "moments/linear_map.hpp"
#include "moments/loss_variance.hpp"
#include "moments/tied_head.hpp"
#include "moments/words.hpp"

/// Loss heads (docs/theory/layers.md#head): the gradient of the loss in the logits, and what the
/// head's own weights add below it.
namespace scalecalc::moments {

/// E ln sum of V exponentials of N(0, tau2): Int (e^-t - (E e^{-t e^s})^V)/t dt.
double expected_log_sum(double classes, double tau2);

/// What draws of this width make of E sum p^2: the logits of a token have the variance tau2 e^x in
/// a draw, x Gaussian of variance `latent` with E e^x = 1. By three points.
struct SizeDrift {
  double second = 0;  ///< E P2(tau2 e^x) - P2(tau2)
  double own = 1;     ///< E e^x (1 - P2(tau2 e^x))^2 over (1 - P2(tau2))^2
};
template <class C, class Head>
SizeDrift drift_of_sizes(C& calculus, const Head& prepared, double tau2, double latent) {
  constexpr double least = 1e-4;
  SizeDrift drift;
  if (!(latent > least)) return drift;
  const double p2 = calculus.value(calculus.softmax_second(prepared, tau2)), rest = 1 - p2;
  double own = 0;
  for (int k = -1; k <= 1; ++k) {
    const double size = std::exp(-latent / 2 + k * std::sqrt(3 * latent));
    const double weight = k == 0 ? 4.0 / 6 : 1.0 / 6;
    const double at = calculus.value(calculus.softmax_second(prepared, tau2 * size));
    drift.second += weight * (at - p2);
    own += weight * size * (1 - at) * (1 - at);
  }
  if (rest > 0) drift.own = own / (rest * rest);
  return drift;
}

/// d ln (1 - 2/V + P2)/d ln tau2.
template <class C, class Head>
double size_slope(C& calculus, const Head& prepared, double tau2, double classes) {
  constexpr double step = 0.1;
  const auto p2 = [&](double at) { return calculus.value(calculus.softmax_second(prepared, at)); };
  const double g = 1 - 2 / classes + p2(tau2);
  return g > 0 ? (p2(tau2 * (1 + step)) - p2(tau2 * (1 - step))) / (2 * step * g) : 0;
}

/// E f(tau2) for each token, E f(tau2, c) for each pair. Targets know nothing of the logits, and
/// two are equal with the chance kappa, 1/V where they are uniform: g = (1 - 2/V + P2)/V, and k =
/// (O - 2/V + kappa)/V, since what targets have in common gradients have.
template <class C, class X>
LossGradient<X> cross_entropy_moments(C& calculus, const Network& network,
                                      const Signal<X>& signal) {
  using N = typename C::Number;
  using T = Token<N>;
  const X& logits = signal.x;
  LossGradient<X> made;
  const N v = calculus.size(network.classes, "classes");
  const N shared =
      network.target_collision > 0 ? N(calculus.real(network.target_collision) - 2 / v) : N(-1 / v);
  const auto prepared = calculus.softmax_head(network.classes, average(logits).second);
  const auto at = [&](const N& drift, const auto& cross_of) {
    return map(
        logits,
        [&](const T& u) {
          return T{N(0), (1 - 2 / v + calculus.softmax_second(prepared, u.second) + drift) / v};
        },
        [&](const T& t, const T& u, const N& cross) {
          const N moved = cross_of(t, u, cross);
          return N((calculus.softmax_cross(prepared, t.second, u.second, moved) + shared) / v);
        });
  };
  if constexpr (C::next_orders) {
    // y_t.y_u fluctuates over draws, and O with it: the mean of both sides, and the slope between
    // them.
    const double fluctuation = std::sqrt(std::max(0.0, calculus.value(signal.overlap.variance())));
    const auto step = [&](double width, const T& t, const T& u, const N& cross) {
      const double most = std::sqrt(calculus.value(t.second) * calculus.value(u.second));
      return std::clamp(width, 0.0, std::max(0.0, most - std::fabs(calculus.value(cross))));
    };
    const double latent =
        std::clamp(signal.spread.token_variance - 2 / calculus.value(v), 0.0, 2.0);
    const SizeDrift drift =
        drift_of_sizes(calculus, prepared, calculus.value(average(logits).second), latent);
    const auto moved = [&](double width, double sign) {
      return at(N(drift.second), [&, width, sign](const T& t, const T& u, const N& cross) {
        return N(cross + sign * step(width, t, u, cross));
      });
    };
    const X up = moved(fluctuation, 1), down = moved(fluctuation, -1);
    made.logits = combine(up, down, [](const N& a, const N& b) { return N((a + b) / 2); });
    // Over less than this the difference is what O is rounded to.
    const double run = std::max(fluctuation, 1e-5 * calculus.value(average(logits).second));
    const X steps = map(
        logits, [](const T&) { return T{}; },
        [&](const T& t, const T& u, const N& cross) { return N(2 * step(run, t, u, cross)); });
    const auto difference = [](const N& a, const N& b) { return N(a - b); };
    const X rises = run > fluctuation ? combine(moved(run, 1), moved(run, -1), difference)
                                      : combine(up, down, difference);
    made.slopes = combine(rises, steps, [&](const N& rise, const N& width) {
      return calculus.value(width) > 0 ? N(rise / width) : N(0);
    });
    const double g = values_of(calculus, made.logits).second * calculus.value(v);
    if (g > 0) made.truncation.second = std::fabs(drift.second) * std::min(1.0, latent) / g;
    made.truncation.cross = made.truncation.second;
    made.own_drift = drift.own;
    made.size_slope =
        size_slope(calculus, prepared, calculus.value(average(logits).second), calculus.value(v));
  } else {
    made.logits = at(N(0), [](const T&, const T&, const N& cross) { return cross; });
  }
  return made;
}

/// Of E g^2 = `second`, what two tokens of equal logits have in common: all but what their targets
/// do not.
inline double equal_words_share(const Network& network, double second, double samples) {
  const double weight = network.reduction == Reduction::mean ? 1 / samples : 1;
  const auto classes = static_cast<double>(network.classes);
  const double same = network.target_collision > 0 ? network.target_collision : 1 / classes;
  const double own = network.loss == Loss::mse ? network.target_second : (1 - same) / classes;
  return second > 0 ? std::clamp(1 - weight * weight * own / second, 0.0, 1.0) : 0;
}

/// Likewise where a share of the tokens of a word is equal: what their softmax has in common at the
/// overlap that they have on average.
template <class C, class X>
double equal_words_of(C& calculus, const Network& network, const Signal<X>& logits, double second,
                      double samples) {
  const double share = equal_share(logits), most = equal_words_share(network, second, samples);
  const Alike<double> y = values_of(calculus, of_words(logits.x, logits.repeats));
  if (share == 1 || network.loss == Loss::mse) return share * most;
  const auto prepared = calculus.softmax_head(network.classes, y.second);
  const double one = calculus.value(calculus.softmax_second(prepared, y.second)),
               same = calculus.value(calculus.softmax_cross(
                   prepared, y.second, y.second, y.cross + share * (y.second - y.cross)));
  const double weight = network.reduction == Reduction::mean ? 1 / samples : 1;
  const double lost = weight * weight * (one - same) / static_cast<double>(network.classes);
  return second > 0 ? std::clamp(most - lost / second, 0.0, 1.0) : 0;
}

/// What is not known of the logits y is not known of dL/dy: of y - t as of y; of a softmax by what
/// E sum p^2 and the overlap of two tokens' p move over as much.
template <class C, class X>
RelativeError error_of_loss(C& calculus, const Network& network, const Alike<double>& y,
                            const RelativeError& of, const LossGradient<X>& made) {
  const double g = values_of(calculus, made.logits).second;
  if (!(g > 0) || !(y.second > 0)) return {};
  const double slope = made.slopes ? std::fabs(values_of(calculus, *made.slopes).cross) : 0;
  RelativeError error{0, slope * of.cross * y.second / g};
  if (network.loss == Loss::mse) {
    const double own = slope - made.own.of_words;
    error = {own * of.second * y.second / g, own * of.cross * y.second / g};
  } else {
    const auto head = calculus.softmax_head(network.classes, y.second);
    const auto p2 = [&](double tau2) {
      return calculus.value(calculus.softmax_second(head, tau2));
    };
    const double more = p2(y.second * (1 + std::min<double>(1, of.second))) - p2(y.second);
    const double rest = 1 - 2 / static_cast<double>(network.classes) + p2(y.second);
    error.second = rest > 0 ? std::fabs(more) / rest : 0;
    error.cross += error.second;
  }
  return error;
}

template <class C, class X>
LossGradient<X> loss_gradient(C& calculus, const Network& network, const Signal<X>& signal,
                              const typename C::Number& samples,
                              std::optional<double> own_variance = {}) {
  using N = typename C::Number;
  const X& logits = signal.x;
  const N v = calculus.size(network.classes, "classes");
  const bool is_mean = network.reduction == Reduction::mean;
  const N weight = is_mean ? N(1 / samples) : N(1);
  const N total = is_mean ? N(1) : samples;
  const auto mean = average(logits);
  if (network.loss == Loss::mse) {
    // dL/dy = y - t: targets of different tokens are independent.
    const N target = calculus.real(network.target_second);
    N finite = N(1);
    // In plain stacks what sizes of draws make of both is followed by itself.
    if constexpr (C::next_orders) {
      if (!is_plain(network)) finite = 1 + signal.spread.mean_shift;
    }
    using T = Token<N>;
    const X gradient = map(
        logits,
        [&](const T& u) {
          return T{N(0), u.second * finite + target};
        },
        [](const T&, const T&, const N& cross) { return cross; });
    LossGradient<X> made;
    made.logits = scaled(gradient, N(weight * weight));
    made.hessian = weight;
    if constexpr (C::next_orders) {
      // E y^2 over that without the words' own logits.
      const double own = v * mean.mean * mean.mean, rest = mean.second - own;
      const double g = mean.second + network.target_second;
      if (!is_tied(network) && g > 0) made.size_slope = mean.second / g;
      if (is_tied(network) && rest > 0) {
        const double width = static_cast<double>(head_of(network).fan_in);
        made.own = {weight * v * mean.mean, weight * own / rest, own_collision(network),
                    v * own / (width * rest)};
        const double word = v * mean.mean;
        if (word != 0) made.own.targets = network.target_second / (word * word);
        made.own.one_kind = 1;
        made.own.run = made.own.overlap;
        // Pairs of one word have M^2/V of their logits' means besides, over M^2/d of their overlap.
        const double run = own * v / width, variance = signal.overlap.variance(),
                     same = made.own.same;
        const double words =
            variance > 0 ? std::min(1.0, same * (1 - same) * run * run / variance) : 1;
        made.own.of_words = weight * weight * words * width / v;
        made.hessian += made.own.along;
        made.own_square = weight * weight * own;
      }
    }
    made.loss = total * v * (mean.second + target) / 2;
    if constexpr (C::next_orders)
      made.slopes = map(
          logits, [](const T&) { return T{}; },
          [&](const T&, const T&, const N&) { return N(weight * weight + made.own.of_words); });
    return made;
  }
  if constexpr (C::next_orders) {
    if (is_tied(network)) {
      LossGradient<X> tied = tied_cross_entropy(calculus, network, signal, own_variance);
      tied.logits = scaled(tied.logits, N(weight * weight));
      tied.slopes = scaled(*tied.slopes, N(weight * weight));
      tied.hessian = weight * tied.hessian;
      tied.own.along *= weight;
      tied.own.word *= weight;
      tied.own.of_words *= weight * weight;
      tied.own_square *= weight * weight;
      tied.loss = total * tied.loss;
      return tied;
    }
  }
  LossGradient<X> made = cross_entropy_moments(calculus, network, signal);
  const N p2 =
      calculus.softmax_second(calculus.softmax_head(network.classes, mean.second), mean.second);
  made.logits = scaled(made.logits, N(weight * weight));
  if (made.slopes) made.slopes = scaled(*made.slopes, N(weight * weight));
  made.hessian = weight * (1 - p2) / v;
  if constexpr (C::next_orders) {
    // Once all but condensed a softmax has 1 - P2 where its two largest scores are close, which
    // happens as 1/tau; the difference has been lost in rounding long before tau^2 is out of range.
    constexpr double condensed = 1e6;
    if (mean.second > condensed)
      made.hessian = weight / v * std::sqrt(condensed / mean.second) *
                     (1 - calculus.softmax_second(calculus.softmax_head(network.classes, condensed),
                                                  condensed));
    made.hessian = made.hessian * std::sqrt(made.own_drift);
  }
  made.loss = total * calculus.log_sum(network.classes, mean.second);
  return made;
}

}  // namespace scalecalc::moments
