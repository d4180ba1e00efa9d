#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "moments/layers/alike_layers.hpp"
#include "moments/layers/residual.hpp"
#include "moments/routing.hpp"
#include "moments/weight_matrix.hpp"
#include "moments/words.hpp"
#include "scalecalc/error.hpp"

/// y = sum_e w_e F_e(x) (docs/theory/experts.md): m' = A m_F and r' = B r_F, A = E sum_e w_e^2 and
/// B = E sum_e w_e(t) w_e(u), since experts know nothing of each other.
namespace scalecalc::moments {

/// RoutedGradient, of one token and of pairs.
template <class X>
struct RoutedGradients {
  X weights, slopes, across;
};

template <class C, class X>
struct Kept<Experts, C, X> {
  Places at, scores;
  WeightInput<X> input;
  X router;                                  ///< A and B
  RoutedGradients<X> plain, divided;         ///< of RoutedPair, `divided` over `inverse`
  X along;                                   ///< of J^T w
  X loads, scatter, sizes;                   ///< of RoutedPair
  X expert;                                  ///< moments of F_e
  double rise_within = 0, rise_between = 0;  ///< dB/dr, r of the input
  double follows = 0;                        ///< what E F_t F_u does, per deviation of r
  /// Of an expert in what its token's sum is made of; behind a norm that has divided by that.
  double share = 0, divided_share = 0;
  double directions = 1;  ///< in which the scores' gradients of all tokens vary
  double uneven = 0;      ///< relative variance over experts of what one gets of the tokens
  /// Of the first expert, where all others are as it is and their records are its own once more.
  RecordRange of_first;
  bool all_alike = false;
};

/// The average of a moment over one token and over pairs, tokens of one word being one.
template <class X, class F>
X routed(const X& scores, double same, bool words, const F& of) {
  using T = Token<double>;
  const X seen = words ? of_words(scores, same) : scores;
  const X made = map(
      seen,
      [&](const T&) {
        return T{0, of(1.0)};
      },
      [&](const T& t, const T& u, double cross) {
        const double size = std::sqrt(t.second * u.second);
        return of(size > 0 ? std::clamp(cross / size, -1.0, 1.0) : 1.0);
      });
  return words ? with_words(made, same) : made;
}

/// What the scores say of one token and of pairs.
template <class C, class X>
void keep_routing(C& calculus, const Experts& layer, const Routing& by, const Signal<X>& scores,
                  const Counts& counts, Kept<Experts, C, X>& kept, Signal<X>& y) {
  const bool words = has_words(scores);
  const auto averaged = [&](const auto& of) {
    return routed(scores.x, scores.repeats, words, [&](double c) { return of(by.at(c)); });
  };
  const auto average_of = [&](double RoutedPair::*member) {
    return averaged([&](const RoutedPair& pair) { return pair.*member; });
  };
  const auto gradients = [&](RoutedGradient RoutedPair::*of, bool is_divided) {
    const auto each = [&](double RoutedGradient::*member) {
      return averaged([&](const RoutedPair& pair) {
        return pair.*of.*member / (is_divided ? pair.inverse : 1);
      });
    };
    return RoutedGradients<X>{each(&RoutedGradient::weights), each(&RoutedGradient::slopes),
                              each(&RoutedGradient::across)};
  };
  kept.plain = gradients(&RoutedPair::plain, false);
  kept.divided = gradients(&RoutedPair::divided, true);
  kept.router = kept.plain.weights;
  kept.along = average_of(&RoutedPair::along);
  kept.loads = average_of(&RoutedPair::loads);
  kept.scatter = average_of(&RoutedPair::scatter);
  kept.sizes = average_of(&RoutedPair::sizes);
  const double A = values_of(calculus, kept.router).second;
  const auto experts = static_cast<double>(layer.experts.size());
  const auto relative = [&](double RoutedPair::*member) {
    const Alike<double> x = values_of(calculus, average_of(member));
    return row_sum(x, counts) / counts.samples() / (A * A);
  };
  kept.uneven = std::max(0.0, experts * relative(&RoutedPair::loads) - 1);
  // A token's gradient varies in k directions, less the one that normalised weights have not; all
  // tokens in as many more as they choose apart.
  const double lost = layer.normalised ? 1 : 0;
  const double alike = row_sum(values_of(calculus, kept.router), counts) / counts.samples() / A;
  kept.directions =
      std::clamp((static_cast<double>(layer.top_k) - lost) / std::max(alike, 1 / experts), 1.0,
                 std::max(1.0, experts - lost));
  const double sizes = by.at(1).sizes / (A * A);
  kept.share = by.at(1).plain.own / by.at(1).plain.weights;
  kept.divided_share = by.at(1).divided.own / by.at(1).divided.weights;
  y.spread.token_variance += sizes;
  y.spread.decorrelation += sizes;
  y.spread.batch_variance += std::max(0.0, relative(&RoutedPair::sizes));
  y.kurtosis = 3 * (1 + sizes);
}

/// dB/dr times what the overlap r of the input fluctuates by, which the experts' output follows
/// too.
template <class C, class X>
void add_routed_overlap(const C& calculus, const Experts& layer, const Routing& by,
                        const Signal<X>& x, const Signal<X>& scores, const Signal<X>& expert,
                        Kept<Experts, C, X>& kept, Signal<X>& y) {
  const Alike<double> z = values_of(calculus, scores.x), f = values_of(calculus, expert.x),
                      w = values_of(calculus, kept.router);
  const auto rise = [&](double cross) {
    return z.second > 0 ? by.rise(cross / z.second) * gain_of(calculus, layer.router) / z.second
                        : 0.0;
  };
  kept.rise_within = rise(z.cross);
  kept.rise_between = rise(z.between);
  const double coherent = calculus.value(x.overlap.coherent);
  const RoutedPair pair = by.at(z.second > 0 ? z.cross / z.second : 1);
  const double of_expert = calculus.value(expert.overlap.coherent);
  kept.follows = of_expert;
  y.overlap.coherent = w.cross * of_expert + f.cross * kept.rise_within * coherent;
  y.overlap.noise = pair.loads * expert.overlap.noise + pair.scatter * f.cross * f.cross;
  const double both = of_expert * coherent;
  const double apart = kept.input.overlap.apart;
  y.x = with_bounded_cross(
      sum_cross(y.x, uniform(y.x, Alike<double>{0, 0, kept.rise_within * both,
                                                kept.rise_between * both * apart * apart})));
}

/// The output of one of the experts. Those that are alike but for their draws have the same
/// moments.
template <class C, class X>
Signal<X> run_experts(ForwardPass<C, X>& pass, const Experts& layer, const Signal<X>& x,
                      Kept<Experts, C, X>& kept) {
  kept.all_alike = are_alike(layer.experts);
  kept.of_first.from = pass.place();
  Signal<X> expert = pass.run(layer.experts.front(), x);
  kept.of_first.to = pass.place();
  for (std::size_t e = 1; e < layer.experts.size(); ++e) {
    if (kept.all_alike)
      pass.repeat(kept.of_first, same_paths(layer.experts.front(), layer.experts[e]));
    else
      expert = pass.run(layer.experts[e], x);
  }
  return expert;
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Experts& layer, Signal<X> x) {
  C& calculus = pass.calculus();
  calculus.enter(layer.path);
  if constexpr (!C::next_orders) {
    throw Error(ErrorKind::input, "no formula says which experts a router chooses", layer.path,
                "use numbers (scalecalc propagate), or experts = 0");
  } else {
    using T = Token<double>;
    settle(x);
    const Counts over = pass.counts(x);
    Kept<Experts, C, X> kept;
    kept.input.overlap = overlap_deviation(calculus, x);
    Signal<X> scores = linear_forward(calculus, layer.router, x, over);
    kept.scores = {pass.site(layer.router.path, "linear", scores), note_weights(pass, layer.router),
                   x.tokens};
    Signal<X> expert = run_experts(pass, layer, x, kept);
    calculus.enter(layer.path);
    const Routing& by = calculus.template cache<Routings>()(
        layer, values_of(calculus, scores.x).second, calculus.options().threads);
    Signal<X> y = expert;
    keep_routing(calculus, layer, by, scores, over, kept, y);
    y.x = zip(
        kept.router, expert.x,
        [](const T& w, const T& f) {
          return T{0, w.second * f.second};
        },
        [](const T&, const T&, double w, double f) { return w * f; });
    add_routed_overlap(calculus, layer, by, x, scores, expert, kept, y);
    const Alike<double> f = values_of(calculus, expert.x), sums = values_of(calculus, y.x);
    const double apart = f.second - f.cross, whole = sums.second - sums.cross;
    y.fresh = apart > 0 ? expert.fresh * whole * whole / (apart * apart) : 0;
    const Alike<double> w = values_of(calculus, kept.router), z = values_of(calculus, scores.x);
    const auto error = [&](double cross) {
      return by.at(z.second > 0 ? cross / z.second : 1).error / w.second;
    };
    // D = B(1) m_F - B(c) r_F, and B follows the tokens' cosine.
    const Alike<double> in = values_of(calculus, x.x);
    const double distance = in.second > 0 ? std::fabs(in.second - in.cross) / in.second : 1;
    const double of_cosine = x.truncation.apart() + distance * x.truncation.second;
    const double of_cross =
        std::min<double>(y.truncation.cross, y.truncation.second + y.truncation.apart());
    const double unknown =
        y.truncation.apart() + std::fabs(1 - w.cross / w.second) * of_cross +
        std::fabs(kept.rise_within * in.second * f.cross) / sums.second * of_cosine;
    if (std::isfinite(unknown)) y.truncation.know_apart(unknown);
    y.error.second += by.at(1).error / w.second;
    y.error.cross += std::max(error(z.cross), error(z.between));
    calculus.assume("experts", "scores are independent Gaussians, experts know nothing of them");
    kept.at = {pass.site(layer.path, "experts", y), 0, x.tokens};
    kept.expert = std::move(expert.x);
    kept.input.spread = x.spread;
    kept.input.truncation = with_mask_sizes(x);
    kept.input.tokens = x.tokens;
    kept.input.x = std::move(x.x);
    pass.template keep<Experts>(std::move(kept));
    return y;
  }
}

/// A norm right behind the sum has divided a token's gradient by the sum's size, S = sum_e w_e^2 of
/// it (docs/theory/experts.md#norm): the part `divided` of it is of that.
template <class X>
X behind_norm(const X& plain, const X& over_size, double divided) {
  return sum(scaled(plain, 1 - divided), scaled(over_size, divided));
}
template <class X>
double divided_by_size(const Gradient<X>& g) {
  return std::clamp(g.follows_size, 0.0, 1.0);
}

/// Of E b k, b = sum_e w_e(t) w_e(u), beyond the product of means (docs/theory/experts.md#along).
struct RoutedPairs {
  double weights = 0, scatter = 0;  ///< E b, Var b
  double expert = 0;                ///< E F_t F_u
  double rise = 0, follows = 0;     ///< of b, and of F_t F_u, per deviation of the input's overlap
};
/// k is of y_t y_u = b F_t F_u with the slope `own`, in which b is once more, and follows the rest
/// of the stream's overlap.
inline double routed_covariance(const OverlapSlope& slope, double own, const RoutedPairs& of) {
  if (!(of.weights > 0)) return 0;
  const double rest = slope.stream - own * (of.weights * of.follows + of.rise * of.expert);
  return own * of.scatter * (of.expert + of.rise * of.follows / of.weights) + of.rise * rest;
}

/// w_e g at one of the experts: E w_e^2 g and E w_e(t) w_e(u) k.
template <class C, class X>
Gradient<X> expert_gradient(const C& calculus, const Experts& layer,
                            const Kept<Experts, C, X>& kept, const Gradient<X>& g) {
  const auto experts = static_cast<double>(layer.experts.size());
  const Alike<double> k = values_of(calculus, g.x), w = values_of(calculus, kept.router);
  const OverlapDeviation& x = kept.input.overlap;
  Gradient<X> out = g;
  const double divided = divided_by_size(g);
  out.x = scaled(product(g.x, behind_norm(kept.plain.weights, kept.divided.weights, divided)),
                 1 / experts);
  out.aligned = g.aligned * w.second / experts;
  out.directions.radial =
      across(g.directions.radial, (1 - divided) * kept.share + divided * kept.divided_share);
  out.uneven = out.beyond_pairs = 0;
  const Alike<double> f = values_of(calculus, kept.expert), v = values_of(calculus, kept.scatter);
  const double aligned = g.along_mean ? 0 : g.aligned, square = aligned * aligned;
  const auto slope = [&](const OverlapSlope& s, double by, double scatter, double rise,
                         double cross, double apart) {
    const double more = divided == 0 ? s.own * scatter : 0;
    return OverlapSlope{
        (s.own * by * by + more) / experts,
        (s.stream * by + (cross * rise * x.coherent + more * kept.follows) * apart) / experts};
  };
  out.slopes = {
      slope(g.slopes.within, w.cross, v.cross, kept.rise_within, k.cross, 1),
      slope(g.slopes.between, w.between, v.between, kept.rise_between, k.between, x.apart)};
  if (divided == 0) {
    const auto covariance = [&](const OverlapSlope& s, double by, double scatter, double expert,
                                double rise, double apart) {
      return routed_covariance(
                 s, std::max(s.own, square),
                 {by, scatter, expert, rise * x.coherent * apart, kept.follows * apart}) /
             experts;
    };
    const Alike<double> more{
        0, square * v.second * f.second / experts,
        covariance(g.slopes.within, w.cross, v.cross, f.cross, kept.rise_within, 1),
        covariance(g.slopes.between, w.between, v.between, f.between, kept.rise_between, x.apart)};
    out.x = with_bounded_cross(sum(out.x, uniform(out.x, more)));
  }
  if (aligned != 0 && w.second > 0)
    out.aligned_squares = scaled(kept.loads, experts / (w.second * w.second));
  return out;
}

/// Along the input x each expert brings back a part of the tokens that it is given, `aligned` of
/// all together: that of sum_ef w_e(t)^2 w_f(u)^2 which e = f has is in what each brings back, and
/// what two experts do is added.
template <class C, class X>
void add_meeting_experts(const C& calculus, const Kept<Experts, C, X>& kept, Gradient<X>& all) {
  if (!all.aligned_squares) return;
  all.aligned_squares.reset();
  const double weights = values_of(calculus, kept.router).second;
  const X two = each(sum(kept.sizes, scaled(kept.loads, -1)),
                     [&](double more) { return std::max(0.0, 1 + more / (weights * weights)); });
  const double square = all.aligned * all.aligned;
  all.x = with_positive_second(
      calculus, sum(all.x, scaled(product(two, without_mean(kept.input.x)), square)));
  all.slopes =
      with_part_along(all.slopes, square * values_of(calculus, two).cross, kept.input.overlap, {});
}

/// dL/dz_e = sum_f J_fe F_f.g: E (F.g)^2 = n m_F g, less what of F a norm behind the sum has taken
/// out of g, which is along w. A part a n m_F w_f is sure where g has a y.
template <class C, class X>
Gradient<X> score_gradient(const BackwardPass<C, X>& pass, const Experts& layer,
                           const Kept<Experts, C, X>& kept, const Gradient<X>& g, double width) {
  const C& calculus = pass.calculus();
  const auto experts = static_cast<double>(layer.experts.size());
  const double divided = divided_by_size(g);
  const double along = std::clamp(1 - g.directions.radial, 0.0, 1.0);
  const X slopes =
      behind_norm(behind_norm(kept.plain.slopes, kept.plain.across, along),
                  behind_norm(kept.divided.slopes, kept.divided.across, along), divided);
  const double sure = g.aligned * share_along(g.along_mean, kept.expert) * width *
                      values_of(calculus, kept.expert).second;
  Gradient<X> out = g;
  out.along_mean = {};
  out.x = scaled(product(product(slopes, kept.expert), g.x), width / experts);
  out.x = without_mean(sum(out.x, scaled(kept.along, sure * sure / experts)));
  out.aligned = 0;
  out.follows_size = 0;
  out.uneven = out.beyond_pairs = 0;
  out.directions = {};
  out.own = {};
  out.kinds = {};
  out.slopes = {};
  out.tie.reset();
  covariance_through_linear(out.log_covariance,
                            Coherent(values_of(calculus, out.x), pass.counts(kept.at.tokens)), 2,
                            kept.directions);
  return out;
}

/// What comes back through the experts together, and the gradients of each.
template <class C, class X>
Gradient<X> back_through_experts(BackwardPass<C, X>& pass, const Experts& layer,
                                 const Kept<Experts, C, X>& kept, const Gradient<X>& g,
                                 const LogCovariance& start) {
  const double loads = std::log1p(kept.uneven);
  std::optional<Gradient<X>> all, one;
  for (auto expert = layer.experts.rbegin(); expert != layer.experts.rend(); ++expert) {
    if (!one || !kept.all_alike) {
      one = expert_gradient(pass.calculus(), layer, kept, g);
      one->log_covariance.value.array() += loads;
      one = pass.run(*expert, *std::move(one));
      one->log_covariance.value.array() -= loads;
    }
    all = all ? sum_of_ways(pass, Gradient<X>(*one), *all, start, kept.at.tokens) : *one;
  }
  if (kept.all_alike)
    for (std::size_t e = 1; e < layer.experts.size(); ++e) pass.repeat(kept.of_first, e);
  add_meeting_experts(pass.calculus(), kept, *all);
  return *std::move(all);
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Experts& layer, Gradient<X> g) {
  if constexpr (!C::next_orders) {
    return g;  // forward_step has refused
  } else {
    const auto& kept = pass.template take<Experts>();
    pass.note(kept.at.site, g);
    const auto before = g.log_covariance.propagator;
    g.log_covariance.propagator.setIdentity();
    const LogCovariance start = g.log_covariance;
    const auto width = static_cast<double>(pass.stream_width());
    Gradient<X> all = back_through_experts(pass, layer, kept, g, start);
    const Gradient<X> scores = score_gradient(pass, layer, kept, g, width);
    pass.note(kept.scores.site, scores);
    fill_weights(pass, layer.router, kept.scores.parameter, kept.input, scores);
    Gradient<X> out =
        sum_of_ways(pass, std::move(all), through_weights(pass, layer.router, kept.input, scores),
                    start, kept.at.tokens);
    out.log_covariance.propagator = out.log_covariance.propagator * before;
    return out;
  }
}

}  // namespace scalecalc::moments
