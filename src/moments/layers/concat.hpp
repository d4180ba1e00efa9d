#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "moments/along_mean.hpp"
#include "moments/image_profile.hpp"
#include "moments/layers/residual.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/sums.hpp"
#include "scalecalc/error.hpp"

/// y = (x, F(x)), the features of both side by side (docs/theory/layers.md#concat): every average
/// over features is p that of x and 1 - p that of F, p the share of features that are x's.
namespace scalecalc::moments {

inline double stream_features(const Concat& layer) {
  return static_cast<double>(layer.stream) / static_cast<double>(layer.stream + layer.branch);
}

/// E x^4/(E x^2)^2 over the features of both; `p`: the stream's share of them.
inline double joined_kurtosis(double p, double left, const Alike<double>& x, double right,
                              const Alike<double>& f, double second) {
  if (!(second > 0)) return 3;
  const auto of = [&](double share, double kurtosis, double one) {
    return share * kurtosis * (one / second) * (one / second);
  };
  return of(p, left, x.second) + of(1 - p, right, f.second);
}

/// What fluctuates of the two side by side: as in a sum of p x.x and (1 - p) F.F, without x.F.
template <class C, class X>
void join_fluctuations(C& calculus, double p, const Signal<X>& stream, const Signal<X>& branch,
                       const Counts& counts, Signal<X>& out) {
  constexpr double no_products = std::numeric_limits<double>::infinity();
  const double q = 1 - p;
  const Alike<double> x = values_of(calculus, stream.x), f = values_of(calculus, branch.x);
  const auto part_of = [](double share, const Alike<double>& of) {
    return Alike<double>{0, share * of.second, share * of.cross, share * of.between};
  };
  const Alike<double> left = part_of(p, x), right = part_of(q, f);
  const double total = left.second + right.second;
  const auto variance = [&](const Signal<X>& of) {
    return calculus.value(of.overlap.variance()) + of.fresh;
  };
  if (stream.overlap_lags || branch.overlap_lags)
    out.overlap_lags = mixed_lags(
        stream.overlap_lags ? *stream.overlap_lags : OverlapLags{}, p * p * variance(stream),
        branch.overlap_lags ? *branch.overlap_lags : OverlapLags{}, q * q * variance(branch));
  const double together =
      p * calculus.value(stream.overlap.coherent) + q * calculus.value(branch.overlap.coherent);
  const double noise = p * p * (calculus.value(stream.overlap.noise) + stream.fresh) +
                       q * q * (calculus.value(branch.overlap.noise) + branch.fresh);
  out.overlap = {std::sqrt(together * together + noise), 0};
  out.fresh = 0;
  out.spread = through_sum(stream.spread, branch.spread, left, right, no_products, counts);
  const double a = total > 0 ? left.second / total : 0, b = total > 0 ? right.second / total : 0;
  out.kurtosis = joined_kurtosis(p, stream.kurtosis, x, branch.kurtosis, f, total);
  const auto mixed = [&](const RelativeError& s, const RelativeError& t) {
    return RelativeError{a * s.second + b * t.second, a * s.cross + b * t.cross,
                         std::sqrt(a * p) * s.mean + std::sqrt(b * q) * t.mean};
  };
  out.error = mixed(stream.error, branch.error);
  out.truncation = mixed(stream.truncation, branch.truncation);
  out.mask_overlap = mask_of_sum(calculus, stream, branch, p, q);
  out.mean_pairs = p * stream.mean_pairs + q * branch.mean_pairs;
  out.populations = Populations{p, x, f, joined_kurtosis(p, 1, x, 1, f, total)};
}

template <class C, class X>
Signal<X> concat_forward(C& calculus, const Concat& layer, const Signal<X>& stream,
                         const Signal<X>& branch, const Counts& counts) {
  using N = typename C::Number;
  using T = Token<N>;
  if (stream.own || branch.own)
    throw Error(ErrorKind::input,
                "no rule covers a tied head whose stream goes through a concatenation", layer.path,
                "tie_head = false");
  const double share = stream_features(layer);
  const N p = calculus.real(share), q = calculus.real(1 - share);
  Signal<X> out = stream;
  out.width = layer.stream + layer.branch;
  out.normalised = out.sinusoids = false;
  out.same_words = stream.same_words && branch.same_words && stream.repeats == branch.repeats;
  out.mixture = {};
  out.flat.reset();
  out.none = 0;
  out.law.reset();
  out.summed.reset();
  out.with_inputs.reset();
  out.dropped.reset();
  out.size_excess = out.sphere_excess = out.map_overlap = out.weight_cumulant = 0;
  out.head_overlap = {};
  out.x = zip(
      stream.x, branch.x,
      [&](const T& x, const T& f) {
        return T{p * x.mean + q * f.mean, p * x.second + q * f.second};
      },
      [&](const T&, const T&, const N& x, const N& f) { return N(p * x + q * f); });
  if constexpr (C::next_orders) join_fluctuations(calculus, share, stream, branch, counts, out);
  if constexpr (has_profiles<C, X>)
    out.profile = profile_of_sum(stream.profile, scaled(stream.x, share), branch.profile,
                                 scaled(branch.x, 1 - share), out.x);
  return out;
}

template <class C, class X>
struct Kept<Concat, C, X> {
  Places at;
  X stream, branch, both;
  MergedOverlap merged{};
  double apart = 1;           ///< of the stream's overlap, as in OverlapDeviation
  double stream_share = 1;    ///< of the squares of both
  double stream_overlap = 1;  ///< deviation of the overlap that is the stream's, over it
};

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Concat& layer, Signal<X> x) {
  C& calculus = pass.calculus();
  settle(x);
  Kept<Concat, C, X> kept;
  kept.merged = merge_overlap(x);
  if constexpr (C::next_orders) kept.apart = overlap_deviation(calculus, x).apart;
  Signal<X> start = x;
  start_branch(start.spread);
  Signal<X> branch = pass.run(layer.body, std::move(start));
  calculus.enter(layer.path);
  Signal<X> y = concat_forward(calculus, layer, x, branch, pass.counts(x));
  if constexpr (C::next_orders) {
    const double p = stream_features(layer), all = values_of(calculus, y.x).second;
    if (all > 0) kept.stream_share = p * values_of(calculus, x.x).second / all;
    const double together = p * x.overlap.coherent + (1 - p) * branch.overlap.coherent;
    if (y.overlap.coherent > 0) kept.stream_overlap = together / y.overlap.coherent;
  }
  kept.at = {pass.site(layer.path, "concat", y), 0, x.tokens};
  kept.stream = std::move(x.x);
  kept.branch = std::move(branch.x);
  kept.both = y.x;
  pass.template keep<Concat>(std::move(kept));
  return y;
}

/// The gradient at some of the features: what is random of it is the same at all, what is along the
/// signal is along theirs. `features`, `squares`: what of all is theirs; `of_kind`: of E g^2, below
/// a norm that has divided each kind by its own size.
template <class C, class X>
Gradient<X> gradient_of_part(const C& calculus, const Kept<Concat, C, X>& kept, const X& part,
                             Gradient<X> g, double features, double squares, double of_kind) {
  using N = typename C::Number;
  const N square = g.aligned * g.aligned;
  g.x = sum(g.x, scaled(sum(products_along(g.along_mean, part),
                            scaled(products_along(g.along_mean, kept.both), N(-1))),
                        square));
  g.x = scaled(g.x, calculus.real(of_kind));
  g.kinds = {};
  g.own = {};
  g.tie.reset();
  g.of_values.reset();
  g.beyond_pairs = g.mean_beyond = g.size_power = 0;
  if constexpr (C::next_orders) {
    g.directions.mean = across(g.directions.mean, features);
    g.directions.radial = across(g.directions.radial, squares);
    g.slopes = through_sum_part(g.slopes, 1, features, kept.stream_overlap);
    g.follows_size *= squares;
  }
  return g;
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Concat& layer, Gradient<X> g) {
  C& calculus = pass.calculus();
  const auto& kept = pass.template take<Concat>();
  pass.note(kept.at.site, g);
  const LogCovariance start = g.log_covariance;
  g.log_covariance.propagator.setIdentity();
  g.with_sums.reset();
  const double p = stream_features(layer);
  const PopulationGradient kinds = g.of_populations ? *g.of_populations : PopulationGradient{};
  g.of_populations.reset();
  Gradient<X> skip =
      gradient_of_part(calculus, kept, kept.stream, g, p, kept.stream_share, kinds.left);
  Gradient<X> last = gradient_of_part(calculus, kept, kept.branch, std::move(g), 1 - p,
                                      1 - kept.stream_share, kinds.right);
  last.spread.susceptibility = 1;
  Gradient<X> branch = pass.run(layer.body, std::move(last));
  const X beside = skip.x;
  const Profile of_positions = skip.profile;
  Gradient<X> out = sum_of_ways(pass, std::move(skip), branch, start, kept.at.tokens,
                                std::optional<X>(kept.stream));
  if constexpr (has_profiles<C, X>)
    out.profile = profile_of_sum(of_positions, beside, branch.profile, branch.x, out.x);
  if constexpr (C::next_orders) {
    out.slopes = before_merge(out.slopes, kept.merged, kept.apart);
    if (branch.below_activation) {
      const Alike<double> all = values_of(calculus, out.x), past = values_of(calculus, beside);
      const auto share = [](double part, double whole) { return whole != 0 ? part / whole : 0; };
      out.below_activation = std::move(branch.below_activation);
      out.below_activation->beside = {0, share(past.second, all.second),
                                      share(past.cross, all.cross),
                                      share(past.between, all.between)};
    }
  }
  return out;
}

}  // namespace scalecalc::moments
