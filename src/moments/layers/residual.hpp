#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "moments/along_mean.hpp"
#include "moments/layers/norm.hpp"
#include "moments/parameter_gradients.hpp"
#include "moments/slope_correlation.hpp"
#include "moments/words.hpp"

/// y = a x + b F(x) (docs/theory/layers.md#residual): m' = a^2 m + b^2 m_F. F ends in weights that
/// know nothing of x, so that E[x F] = E[x] E[F], which is 0 unless F ends in an activation.
namespace scalecalc::moments {

/// s^2 -> (a^2 s + b^2 K s_in)^2 + 2 a^2 b^2 D D_F/d + a^4 noise + b^4 noise_F
/// (docs/theory/attention.md#overlap).
template <class N>
Overlap<N> overlap_of_sum(const Overlap<N>& stream, const Overlap<N>& branch, const N& a2,
                          const N& b2, const N& apart, const N& branch_apart, const N& width) {
  using std::sqrt;
  const N together = a2 * stream.coherent + b2 * branch.coherent;
  const N noise =
      a2 * a2 * stream.noise + b2 * b2 * branch.noise + 2 * a2 * b2 * apart * branch_apart / width;
  return {sqrt(together * together + noise), N(0)};
}

/// Whether a branch hands on a part of its input that no weights have been drawn for, so that E[x
/// F] is not 0.
inline bool keeps_input(const std::vector<Layer>& layers) {
  return std::none_of(layers.begin(), layers.end(), [](const Layer& layer) {
    if (const auto* parallel = std::get_if<Parallel>(&layer.op))
      return std::none_of(parallel->branches.begin(), parallel->branches.end(), keeps_input);
    return std::holds_alternative<Linear>(layer.op) ||
           std::holds_alternative<Attention>(layer.op) ||
           std::holds_alternative<Conv2d>(layer.op) || std::holds_alternative<Gated>(layer.op) ||
           std::holds_alternative<Embedding>(layer.op) || std::holds_alternative<Experts>(layer.op);
  });
}

/// Of the sum's overlaps, what masks make: the branch's move with the stream's as far as its
/// overlaps do.
template <class C, class X>
double mask_of_sum(const C& calculus, const Signal<X>& stream, const Signal<X>& branch, double a2,
                   double b2) {
  const double whole = calculus.value(stream.overlap.variance()),
               moved = calculus.value(branch.overlap.coherent);
  const double follows =
      whole > 0 ? std::min(branch.mask_overlap, moved * moved * stream.mask_overlap / whole) : 0;
  const double together = a2 * std::sqrt(stream.mask_overlap) + b2 * std::sqrt(follows);
  return together * together + b2 * b2 * (branch.mask_overlap - follows);
}

/// Third and fourth cumulants of a feature, from E x^4/(E x^2)^2 and its skewness over samples.
struct FeatureCumulants {
  double third = 0, fourth = 0;
};
template <class C, class X>
FeatureCumulants cumulants_of(const C& calculus, const Signal<X>& in, const Counts& counts) {
  const Alike<double> x = values_of(calculus, in.x);
  const double square = x.mean * x.mean;
  const double third = in.spread.skewness * std::pow(std::max(0.0, over_samples(x, counts)), 1.5);
  return {third,
          (in.kurtosis - 3) * x.second * x.second + 2 * square * square - 4 * x.mean * third};
}

/// E y^4/(E y^2)^2 of y = a x + b F, whose cumulants add up; `sum`: of y.
template <class C, class X>
double kurtosis_of_sum(const C& calculus, const Signal<X>& stream, const Signal<X>& branch,
                       double a, double b, const Alike<double>& sum, const Counts& counts) {
  if (!(sum.second > 0)) return 3;
  const FeatureCumulants x = cumulants_of(calculus, stream, counts),
                         f = cumulants_of(calculus, branch, counts);
  const double third = std::pow(a, 3) * x.third + std::pow(b, 3) * f.third,
               fourth = std::pow(a, 4) * x.fourth + std::pow(b, 4) * f.fourth;
  const double square = sum.mean * sum.mean;
  const double excess = fourth + 4 * sum.mean * third - 2 * square * square;
  return std::max(1.0, 3 + excess / (sum.second * sum.second));
}

/// a x + b F of independent directions.
template <class C, class X>
Signal<X> sum_forward(C& calculus, const typename C::Number& a, const typename C::Number& b,
                      const Signal<X>& stream, const Signal<X>& branch, const Counts& counts,
                      MixedSum* kinds = nullptr) {
  using N = typename C::Number;
  using T = Token<N>;
  const N a2 = a * a, b2 = b * b;
  Signal<X> out = stream;
  out.normalised = false;
  out.same_words = stream.same_words && branch.same_words;
  if (stream.own) out.own = scaled(*stream.own, a);
  if (branch.own)
    out.own = out.own ? sum(*out.own, scaled(*branch.own, b)) : scaled(*branch.own, b);
  const N both = 2 * a * b;
  out.x = zip(
      stream.x, branch.x,
      [&](const T& x, const T& f) {
        return T{a * x.mean + b * f.mean, a2 * x.second + b2 * f.second + both * x.mean * f.mean};
      },
      [&](const T&, const T&, const N& x, const N& f) { return N(a2 * x + b2 * f); });
  const auto x = average(stream.x), f = average(branch.x);
  const N shared = both * x.mean * f.mean;
  out.x = each_cross(out.x, [&](const N& cross) { return N(cross + shared); });
  if constexpr (C::next_orders) {
    out.fresh = 0;
    if (stream.overlap_lags || branch.overlap_lags)
      out.overlap_lags =
          mixed_lags(stream.overlap_lags ? *stream.overlap_lags : OverlapLags{},
                     calculus.value(a2 * a2) * calculus.value(stream.overlap.variance()),
                     branch.overlap_lags ? *branch.overlap_lags : OverlapLags{},
                     calculus.value(b2 * b2) * calculus.value(branch.overlap.variance()));
    // Of tokens that are alike D is 0, and what the difference leaves is rounding of either sign.
    out.overlap = overlap_of_sum({stream.overlap.coherent, N(stream.overlap.noise + stream.fresh)},
                                 {branch.overlap.coherent, N(branch.overlap.noise + branch.fresh)},
                                 a2, b2, calculus.positive(N(x.second - x.cross)),
                                 calculus.positive(N(f.second - f.cross)),
                                 N(calculus.size(stream.width, "width")));
    const Alike<double> left = values_of(calculus, scaled(x, a2)),
                        right = values_of(calculus, scaled(f, b2));
    out.spread = through_sum(stream.spread, branch.spread, left, right,
                             static_cast<double>(stream.width), counts);
    if (out.same_words) sum_words(stream, left, branch, right, out);
    // A branch that starts at 0 leaves constant features constant.
    if (right.second > 0)
      out.flat.reset();
    else
      out.same_words = stream.same_words;
    const double total = values_of(calculus, out.x).second;
    const double p = total > 0 ? left.second / total : 0, q = total > 0 ? right.second / total : 0;
    const auto mixed = [&](const RelativeError& s, const RelativeError& t) {
      return RelativeError{p * s.second + q * t.second, p * s.cross + q * t.cross};
    };
    const Alike<double> sums = values_of(calculus, out.x);
    MixedSum made =
        mixed_sum(stream.mixture, branch.mixture, p, sums.cross != 0 ? left.cross / sums.cross : 0);
    out.mixture = made.sum;
    if (kinds) *kinds = std::move(made);
    out.kurtosis = 3 + p * p * (stream.kurtosis - 3) + q * q * (branch.kurtosis - 3);
    if (left.mean != 0 || right.mean != 0)
      out.kurtosis = kurtosis_of_sum(calculus, stream, branch, calculus.value(a), calculus.value(b),
                                     sums, counts);
    out.error = mixed(stream.error, branch.error);
    out.truncation = mixed(stream.truncation, branch.truncation);
    out.truncation.mean =
        std::sqrt(p) * stream.truncation.mean + std::sqrt(q) * branch.truncation.mean;
    out.size_excess = p * p * stream.size_excess + q * q * branch.size_excess;
    out.sphere_excess = p * p * stream.sphere_excess + q * q * branch.sphere_excess;
    out.map_overlap = 0;
    out.mask_overlap =
        mask_of_sum(calculus, stream, branch, calculus.value(a2), calculus.value(b2));
  }
  return out;
}

template <class C, class X>
Signal<X> residual_forward(C& calculus, const Residual& layer, const Signal<X>& stream,
                           const Signal<X>& branch, const Counts& counts,
                           MixedSum* kinds = nullptr) {
  Signal<X> out = sum_forward(calculus, calculus.skip(layer), calculus.branch(layer), stream,
                              branch, counts, kinds);
  if constexpr (C::next_orders) {
    const double total = values_of(calculus, out.x).second;
    if (keeps_input(layer.body) && total > 0) {
      const double both_sizes =
          2 * std::fabs(layer.skip * layer.branch) *
          std::sqrt(values_of(calculus, stream.x).second * values_of(calculus, branch.x).second) /
          total;
      out.truncation.second += both_sizes;
      out.truncation.cross += both_sizes;
      calculus.assume("residual", "the branch is independent of its input", "2 |E x F|/E y^2",
                      both_sizes, 0.05);
    }
  }
  return out;
}

template <class C, class X>
struct Kept<Residual, C, X> {
  Places at;
  X branch, sum;
  double stream_share = 1, branch_share = 0;  ///< of the sum's second
  double follows = 0;                         ///< the branch's susceptibility
  double stream_apart = 1, branch_apart = 0;  ///< of that about the mean over samples
  bool after_activation = false;              ///< the stream
  MixedSum kinds;
  double stream_overlap = 1;  ///< deviation of the sum's overlap that is the stream's, over it
  std::optional<X> input;     ///< where both ways may bring back parts along it
  MergedOverlap merged{};
  double apart = 1;  ///< of it, as in OverlapDeviation
};

/// Of the sum y of x and the branch.
template <class C, class X>
Kept<Residual, C, X> kept_of_sum(const C& calculus, const Residual& layer, Places at,
                                 const Signal<X>& x, const Signal<X>& y, Signal<X>& branch,
                                 const Counts& counts) {
  Kept<Residual, C, X> kept;
  kept.at = at;
  if constexpr (C::next_orders) {
    const double m = values_of(calculus, y.x).second;
    const double a = layer.skip, b = layer.branch;
    if (m > 0) {
      kept.stream_share = a * a * values_of(calculus, x.x).second / m;
      kept.branch_share = b * b * values_of(calculus, branch.x).second / m;
    }
    kept.follows = branch.spread.susceptibility;
    const double apart = over_samples(values_of(calculus, y.x), counts);
    if (apart > 0) {
      kept.stream_apart =
          std::clamp(a * a * over_samples(values_of(calculus, x.x), counts) / apart, 0.0, 1.0);
      kept.branch_apart = 1 - kept.stream_apart;
    }
    const double together = a * a * x.overlap.coherent + b * b * branch.overlap.coherent;
    if (y.overlap.coherent > 0) kept.stream_overlap = together / y.overlap.coherent;
  }
  kept.after_activation = x.spread.skewness != 0;
  kept.branch = std::move(branch.x);
  if (layer.trainable_branch) kept.sum = y.x;
  return kept;
}

/// Whether W^T ... W of these layers may bring a gradient back along x: a norm takes it out.
inline bool may_return_along(const std::vector<Layer>& layers) {
  return !layers.empty() && !std::holds_alternative<Norm>(layers.front().op);
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Residual& layer, Signal<X> x) {
  C& calculus = pass.calculus();
  std::optional<X> input;
  if (C::next_orders && (pass.averages_tokens() || (!layer.norm && may_return_along(layer.body))))
    input = x.x;
  // An activation counts what its features make of overlaps itself.
  if (layer.body.empty() || !std::holds_alternative<ActivationLayer>(layer.body.front().op))
    settle(x);
  const MergedOverlap merged = merge_overlap(x);
  double apart = 1;
  if constexpr (C::next_orders) apart = overlap_deviation(calculus, x).apart;
  Signal<X> start = x;
  start.spread.susceptibility = 1;
  Signal<X> branch = pass.run(layer.body, std::move(start));
  std::size_t scale = 0;
  if (layer.trainable_branch)
    scale =
        pass.parameter(layer.path, ".scale", 1, layer.scale_features, layer.branch * layer.branch);
  if (!layer.shortcut.empty()) x = pass.run(layer.shortcut, std::move(x));
  calculus.enter(layer.path);
  settle(x);
  MixedSum kinds;
  Signal<X> y = residual_forward(calculus, layer, x, branch, pass.counts(x), &kinds);
  const auto keep_sum = [&](std::size_t at) {
    auto kept = kept_of_sum(calculus, layer, {at, scale, x.tokens}, x, y, branch, pass.counts(x));
    kept.kinds = std::move(kinds);
    kept.input = std::move(input);
    kept.merged = merged;
    kept.apart = apart;
    pass.template keep<Residual>(std::move(kept));
  };
  if (!layer.norm) {
    keep_sum(pass.site(layer.path, "residual", y));
    return y;
  }
  calculus.complete(layer.path, y);
  keep_sum(no_site);
  return forward_step(pass, *layer.norm, std::move(y), layer.path, "residual");
}

/// What of a branch F is not along directions that a norm has taken out of the gradient: the ones,
/// as far as `g.mean` says, and the sum y = a x + b F, E F_t y_u = E F_t (E y_u - b E F_u) + b E
/// F_t F_u (docs/theory/layers.md#branch-scale).
template <class X>
X across_sum(const X& branch, const X& sum, const typename X::Number& b, const NormDirections& g) {
  using N = typename X::Number;
  using T = Token<N>;
  const N ones(std::clamp(1 - g.mean, 0.0, 1.0)), along(std::clamp(1 - g.radial, 0.0, 1.0));
  const auto centred = [&](const N& square, const N& mean, const N& other) {
    return N(square - ones * mean * other);
  };
  const auto y = average(sum), f = average(branch);
  const auto with_sum = [&](const N& mean, const N& other, const N& square) {
    return N((1 - ones) * mean * (other - b * mean) + b * square);
  };
  const N size = centred(y.second, y.mean, y.mean), own = centred(f.second, f.mean, f.mean);
  if (!(size > 0)) return branch;
  const N share = with_sum(f.mean, y.mean, own) / size;
  const auto rest = [&](const N& ff, const N& fy, const N& yy) {
    return N(ff - along * share * (2 * fy - share * yy));
  };
  return zip(
      branch, sum,
      [&](const T& t, const T& s) {
        const N ff = centred(t.second, t.mean, t.mean);
        const N second = rest(ff, with_sum(t.mean, s.mean, ff), centred(s.second, s.mean, s.mean));
        return T{N(0), second > 0 ? second : N(0)};
      },
      [&](const T& t, const T& u, const N& ff, const N& yy) {
        const N cross = centred(ff, t.mean, u.mean);
        return rest(cross, with_sum(t.mean, y.mean, cross), centred(yy, y.mean, y.mean));
      });
}

/// E (dL/da)^2 = d [T m_F g + T (T-1) r_F k] for y = x + a F, and the square of a mean: of a
/// gradient along y all F.F add up; of one entry of a vector a without d
/// (docs/theory/layers.md#branch-scale).
template <class C, class X>
void fill_branch_scale(BackwardPass<C, X>& pass, const Residual& layer,
                       const Kept<Residual, C, X>& kept, const Gradient<X>& g) {
  using N = typename C::Number;
  const N features =
      layer.scale_features > 1 ? N(1) : N(pass.calculus().size(pass.stream_width(), "width"));
  const N tokens = pass.tokens(kept.at.tokens);
  X branch = kept.branch;
  if constexpr (C::next_orders) {
    if (layer.scale_features <= 1)
      branch = across_sum(kept.branch, kept.sum, pass.calculus().branch(layer), g.directions);
  }
  N gradient = features * token_sum(branch, g.x, tokens, pass.batch());
  if constexpr (C::next_orders) {
    const N mean = g.aligned * pass.calculus().branch(layer) * features * tokens * pass.batch() *
                   average(kept.branch).second * share_along(g.along_mean, kept.branch);
    gradient = gradient + mean * mean;
  }
  fill(pass, kept.at.parameter, gradient, g, {});
}

/// The gradient that comes through a branch is independent of that on the skip, but for what both
/// have along the `input`: 2 a a' E x_t x_u. `start`: the covariance of what both are made of.
template <class C, class X>
Gradient<X> sum_of_ways(const BackwardPass<C, X>& pass, Gradient<X> skip, const Gradient<X>& branch,
                        const LogCovariance& start, std::int64_t tokens,
                        const std::optional<X>& input = std::nullopt) {
  if constexpr (C::next_orders) {
    const C& calculus = pass.calculus();
    const Counts counts = pass.counts(tokens);
    const auto width = static_cast<double>(pass.stream_width());
    const Alike<double> left = values_of(calculus, skip.x), right = values_of(calculus, branch.x);
    const double total = left.second + right.second, p = total > 0 ? left.second / total : 1;
    skip.spread = through_sum(skip.spread, branch.spread, left, right, width, counts);
    skip.log_covariance = covariance_of_sum(start, skip.log_covariance, branch.log_covariance, left,
                                            right, width, counts);
    const auto mixed = [&](const RelativeError& s, const RelativeError& t) {
      return RelativeError{p * s.second + (1 - p) * t.second, p * s.cross + (1 - p) * t.cross};
    };
    skip.directions = {p * skip.directions.mean + (1 - p) * branch.directions.mean,
                       p * skip.directions.radial + (1 - p) * branch.directions.radial,
                       p * skip.directions.samples + (1 - p) * branch.directions.samples};
    skip.slope_scatter = p * skip.slope_scatter + (1 - p) * branch.slope_scatter;
    skip.equal_words = p * skip.equal_words + (1 - p) * branch.equal_words;
    skip.kinds = sum_of_kinds(skip.kinds, branch.kinds, p);
    skip.error = mixed(skip.error, branch.error);
    skip.truncation = mixed(skip.truncation, branch.truncation);
  }
  skip.x = sum(skip.x, branch.x);
  if constexpr (C::next_orders) {
    const double both = 2 * skip.aligned * branch.aligned;
    if (input && both != 0 && skip.own.word == 0)
      skip.x =
          sum(skip.x, scaled(products_along(skip.along_mean, branch.along_mean, *input), both));
    skip.along_mean = sum_along(skip.along_mean, skip.aligned, branch.along_mean, branch.aligned);
  }
  skip.slopes = skip.slopes + branch.slopes;
  skip.uneven += branch.uneven;
  skip.follows_size = 0;
  skip.aligned = skip.aligned + branch.aligned;
  skip.slope_correlation.reset();
  return skip;
}

/// A gradient that a norm has taken the sum out of, `level` is left, is along x what it is not
/// along the branch: both ways then meet with opposite signs (docs/theory/finite-width.md#along).
/// `skip`: the skip's share of the gradient.
template <class C, class X>
void add_meeting(const C& calculus, const Kept<Residual, C, X>& kept, double level, double skip,
                 double width, Gradient<X>& out) {
  const double meet = -2 * (1 - level) * skip * kept.branch_share * kept.follows;
  out.directions.radial += meet;
  out.x = scaled(out.x, calculus.real(1 + meet / width));
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Residual& layer, Gradient<X> g) {
  using N = typename C::Number;
  C& calculus = pass.calculus();
  if (layer.norm) g = backward_step(pass, *layer.norm, std::move(g));
  const auto& kept = pass.template take<Residual>();
  pass.note(kept.at.site, g);
  if (layer.trainable_branch) fill_branch_scale(pass, layer, kept, g);
  const N a = calculus.skip(layer), b = calculus.branch(layer);
  const LogCovariance start = g.log_covariance;
  const double level = g.directions.radial;
  g.log_covariance.propagator.setIdentity();
  Gradient<X> skip = g;
  skip.x = scaled(g.x, N(a * a));
  skip.aligned = g.aligned * a * a;
  if constexpr (C::next_orders) skip.own.word *= a;
  g.own = {};
  // A sum of two is no activation's output; of one, it is the stream.
  if (skip.tie) {
    const double kept_of = calculus.value(a * a);
    skip.tie->second *= kept_of;
    skip.tie->cross *= kept_of;
  }
  g.tie.reset();
  if (kept.after_activation) repeated_slopes(calculus, skip, kept.stream_share);
  if constexpr (C::next_orders) {
    skip.kinds = left_of(kept.kinds, g.kinds);
    g.kinds = right_of(kept.kinds, g.kinds);
    skip.slopes = through_sum_part(g.slopes, a * a, kept.stream_overlap);
    g.slopes = through_sum_part(g.slopes, b * b, kept.stream_overlap);
    skip.uneven *= a * a * a * a;
    g.uneven *= b * b * b * b;
  }
  scale_slope_correlation(calculus, skip, a);
  scale_slope_correlation(calculus, g, b);
  skip.directions.radial = across(g.directions.radial, kept.stream_share);
  g.directions.radial = across(g.directions.radial, kept.branch_share);
  skip.directions.samples = across(g.directions.samples, kept.stream_apart);
  g.directions.samples = across(g.directions.samples, kept.branch_apart);
  skip.follows_size = g.follows_size * kept.stream_share;
  g.follows_size *= kept.branch_share;
  if (!layer.shortcut.empty()) skip = pass.run(layer.shortcut, std::move(skip));
  g.x = scaled(g.x, N(b * b));
  g.aligned = g.aligned * b * b;
  g.spread.susceptibility = 1;
  const double of_skip = values_of(calculus, skip.x).second;
  Gradient<X> out = sum_of_ways(pass, std::move(skip), pass.run(layer.body, std::move(g)), start,
                                kept.at.tokens, kept.input);
  if constexpr (C::next_orders) {
    const double all = values_of(calculus, out.x).second;
    if (layer.shortcut.empty() && all > 0)
      add_meeting(calculus, kept, level, of_skip / all, static_cast<double>(pass.stream_width()),
                  out);
    // Both ways carry the same gradient where no weights lie between.
    const double share = std::clamp(kept.stream_share, 0.0, 1.0);
    if (keeps_input(layer.body)) {
      const double both = 2 * std::sqrt(share * (1 - share)) + 1;
      out.truncation.second += both;
      out.truncation.cross += both;
    }
    out.slopes = before_merge(out.slopes, kept.merged, kept.apart);
  }
  return out;
}

}  // namespace scalecalc::moments
