#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "moments/along_mean.hpp"
#include "moments/image_profile.hpp"
#include "moments/layers/norm.hpp"
#include "moments/parameter_gradients.hpp"
#include "moments/slope_correlation.hpp"
#include "moments/stream_activation.hpp"
#include "moments/sums.hpp"

/// y = a x + b F(x) (docs/theory/layers.md#residual): m' = a^2 m + b^2 m_F + 2 a b E x F. Where F
/// ends in weights, which know nothing of x, E[x F] = E[x] E[F].
namespace scalecalc::moments {

template <class C, class X>
Signal<X> residual_forward(C& calculus, const Residual& layer, const Signal<X>& stream,
                           const Signal<X>& branch, const Counts& counts, MixedSum* kinds = nullptr,
                           const WithInput<X>* together = nullptr) {
  Signal<X> out = sum_forward(calculus, calculus.skip(layer), calculus.branch(layer), stream,
                              branch, counts, kinds, together ? &together->product : nullptr);
  if constexpr (C::next_orders) {
    const double total = values_of(calculus, out.x).second;
    if (total > 0) note_condition(calculus, layer.skip, stream, layer.branch, branch, total, out);
    const bool independent =
        !keeps_input(layer.body) || (!layer.shortcut.empty() && !keeps_input(layer.shortcut));
    if (!independent && total > 0) {
      const double most = std::sqrt(values_of(calculus, stream.x).second *
                                    values_of(calculus, branch.x).second),
                   left_out = together
                                  ? std::min<double>(1, together->left_out) *
                                        std::fabs(values_of(calculus, together->product).second)
                                  : most;
      const double relative = 2 * std::fabs(layer.skip * layer.branch) * left_out / total;
      out.truncation.second += relative;
      out.truncation.cross += relative;
      calculus.assume("residual", "what the branch has of its input is known",
                      "of 2 |E x F|/E y^2, what is not", relative, 0.05);
    }
  }
  return out;
}

template <class C, class X>
struct Kept<Residual, C, X> {
  Places at;
  X branch, sum;
  double stream_share = 1, branch_share = 0;  ///< of the sum's second
  double stream_mean = 0, branch_mean = 0;    ///< over features
  double follows = 0;                         ///< the branch's susceptibility
  double stream_apart = 1, branch_apart = 0;  ///< of that about the mean over samples
  bool after_activation = false;              ///< the stream
  Seldom<DroppedPaths> dropped;               ///< of the sum
  bool stream_varies = false;                 ///< its sizes do, by drop path
  MixedSum kinds;
  double stream_overlap = 1;  ///< deviation of the sum's overlap that is the stream's, over it
  std::optional<X> input;     ///< where both ways may bring back parts along it
  std::optional<X> word;      ///< Signal::own of that
  MergedOverlap merged{};
  double apart = 1;                      ///< of it, as in OverlapDeviation
  std::shared_ptr<const StreamSum> law;  ///< of an activation and a Gaussian branch
  /// Where E x F is followed: it over E x^2 and over E F^2, all about the means.
  std::optional<std::pair<double, double>> together;
};

/// Back through such a sum: the stream knows what it is of, and the branch's gradient its output.
template <class C, class X>
void through_law(const C& calculus, const Residual& layer, const Kept<Residual, C, X>& kept,
                 const StreamGradient& known, Gradient<X>& skip, Gradient<X>& branch) {
  const Alike<double> f = values_of(calculus, kept.branch);
  const double b2 = layer.branch * layer.branch, square = f.mean * f.mean;
  const Alike<double> apart{0, f.second - square, f.cross - square, f.between - square};
  StreamParts parts =
      through_stream_sum(*kept.law, known, values_of(calculus, branch.x), scaled(apart, b2));
  scale(parts.stream, layer.skip * layer.skip);
  skip.of_stream = std::move(parts.stream);
  if (!branch.slope_correlation) return;
  branch.slope_correlation->input = with_averages(branch.x, apart);
  branch.slope_correlation->product = with_averages(branch.x, parts.product);
}

/// Of the sum y of x and the branch.
template <class C, class X>
Kept<Residual, C, X> kept_of_sum(const C& calculus, const Residual& layer, Places at,
                                 const Signal<X>& x, const Signal<X>& y, Signal<X>& branch,
                                 const Counts& counts,
                                 const std::optional<std::pair<double, double>>& along) {
  Kept<Residual, C, X> kept;
  kept.at = at;
  kept.together = along;
  if constexpr (C::next_orders) {
    const double m = values_of(calculus, y.x).second;
    const double a = layer.skip, b = layer.branch;
    kept.stream_mean = values_of(calculus, x.x).mean;
    kept.branch_mean = values_of(calculus, branch.x).mean;
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
    const double kappa = along ? along->first : 0;
    const double together =
        a * (a + 2 * b * kappa) * x.overlap.coherent + b * b * branch.overlap.coherent;
    if (y.overlap.coherent > 0) kept.stream_overlap = together / y.overlap.coherent;
  }
  kept.after_activation = x.spread.skewness != 0;
  kept.dropped = y.dropped;
  kept.stream_varies = x.dropped && x.dropped->of_stream;
  kept.branch = std::move(branch.x);
  if (layer.trainable_branch) kept.sum = y.x;
  return kept;
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Residual& layer, Signal<X> x) {
  C& calculus = pass.calculus();
  std::optional<X> input, word;
  if (C::next_orders && (pass.averages_tokens() || pass.makes_memory() || x.own ||
                         (!layer.norm && (may_return_along(layer.body) ||
                                          (x.tokens > 1 && may_return_others(layer.body)))))) {
    input = x.x;
    word = x.own;
  }
  const bool chain_follows = pass.chain_follows();
  // An activation counts what its features make of overlaps itself.
  if (layer.body.empty() || !is_pointwise(layer.body.front())) settle(x);
  const MergedOverlap merged = merge_overlap(x);
  pass.keep_overlaps(merged.coherent);
  double apart = 1;
  if constexpr (C::next_orders) apart = overlap_deviation(calculus, x).apart;
  Signal<X> start = x;
  start_branch(start.spread);
  const bool follows = follows_input(layer);
  if (follows) push(start.with_inputs, with_itself(x.x));
  Signal<X> branch = pass.run(layer.body, std::move(start));
  std::optional<WithInput<X>> together;
  if (follows) together = pop(branch.with_inputs);
  std::size_t scale = 0;
  if (layer.trainable_branch)
    scale =
        pass.parameter(layer.path, ".scale", 1, layer.scale_features, layer.branch * layer.branch);
  const NormVariance before = x.spread;
  if (!layer.shortcut.empty()) {
    start_branch(x.spread);
    x = pass.run(layer.shortcut, std::move(x));
  }
  calculus.enter(layer.path);
  settle(x);
  MixedSum kinds;
  Signal<X> y = residual_forward(calculus, layer, x, branch, pass.counts(x), &kinds,
                                 together ? &*together : nullptr);
  if constexpr (C::next_orders) {
    if (!layer.shortcut.empty())
      y.spread = spread_of_ways(
          before, y.spread, x.spread, scaled(values_of(calculus, x.x), layer.skip * layer.skip),
          branch.spread, scaled(values_of(calculus, branch.x), layer.branch * layer.branch),
          together ? 0 : static_cast<double>(x.width), pass.counts(x));
  }
  if constexpr (has_profiles<C, X>) {
    const double a2 = layer.skip * layer.skip, b2 = layer.branch * layer.branch;
    y.profile =
        profile_of_sum(x.profile, scaled(x.x, a2), branch.profile, scaled(branch.x, b2), y.x);
  }
  std::optional<std::pair<double, double>> along;
  std::shared_ptr<const StreamSum> law;
  if (!together) law = law_of_sum(calculus, layer, x, branch);
  if (law) y.law = law->to;
  if constexpr (C::next_orders) {
    const double all = over_samples(values_of(calculus, y.x), pass.counts(y)),
                 own = over_samples(values_of(calculus, branch.x), pass.counts(y));
    if (x.flat && !branch.flat && all > 0)
      y.summed = {*x.flat, std::clamp(layer.branch * layer.branch * own / all, 0.0, 1.0)};
  }
  if (together) {
    const Alike<double> both = values_of(calculus, together->product);
    along = {along_input(both, values_of(calculus, x.x)),
             along_input(both, values_of(calculus, branch.x))};
  }
  const auto keep_sum = [&](std::size_t at) {
    auto kept =
        kept_of_sum(calculus, layer, {at, scale, x.tokens}, x, y, branch, pass.counts(x), along);
    kept.kinds = std::move(kinds);
    kept.input = std::move(input);
    kept.word = std::move(word);
    kept.merged = merged;
    kept.law = std::move(law);
    kept.apart = apart;
    pass.keep_overlaps(kept.stream_overlap);
    pass.template keep<Residual>(std::move(kept));
  };
  if (!layer.norm) {
    keep_sum(pass.site(layer.path, "residual", y));
    return y;
  }
  calculus.complete(layer.path, y);
  keep_sum(no_site);
  pass.set_chain_follows(chain_follows);
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
    const auto f = average(kept.branch);
    N product = pass.calculus().branch(layer) * f.second;
    // Of y = a x + b F there is E x F beside it.
    if (kept.together)
      product += pass.calculus().skip(layer) * kept.together->second * (f.second - f.mean * f.mean);
    const N mean = g.aligned * features * tokens * pass.batch() * product *
                   share_along(g.along_mean, kept.branch);
    gradient = gradient + mean * mean;
  }
  fill(pass, kept.at.parameter, gradient, g, {});
  if constexpr (C::next_orders) {
    // What a norm takes of F along y is taken from F alone, as if x knew nothing of it.
    if (kept.together && g.directions.radial < 1) pass.parameter(kept.at.parameter).truncation += 1;
  }
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

/// Twice the product of what comes by the skip and by the branch: along the signals of all tokens
/// both ways meet (docs/theory/attention.md#along-tokens).
template <class C, class X>
std::optional<X> meeting_of_ways(const BackwardPass<C, X>& pass, const Kept<Residual, C, X>& kept,
                                 const Gradient<X>& skip, const Gradient<X>& branch) {
  if (!skip.along_tokens || !branch.along_tokens || !kept.input || kept.together)
    return std::nullopt;
  const auto tokens = pass.tokens(kept.at.tokens);
  X along = over_tokens(*skip.along_tokens, without_mean(*kept.input), tokens);
  if (kept.word && skip.own.word != 0)
    along = sum(along, along_word(*kept.word, skip.own.word, skip.own.same));
  return meeting(*branch.along_tokens, along, tokens);
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
  if constexpr (C::next_orders) {
    // It begins where the stream does: a head's gradient is along each token's own signal.
    if (!g.along_tokens && g.aligned != 0 && kept.input && !g.along_mean)
      g.along_tokens = uniform(g.x, Alike<double>{0, calculus.value(g.aligned), 0, 0});
    if (kept.together || !layer.shortcut.empty()) g.along_tokens.reset();
  }
  const LogCovariance start = g.log_covariance;
  const double level = g.directions.radial;
  g.log_covariance.propagator.setIdentity();
  const auto of_stream = std::exchange(g.of_stream, std::nullopt);
  Gradient<X> skip = g;
  skip.x = scaled(g.x, N(a * a));
  // Of y = (a + b kappa) x + b F', and likewise by F.
  const N by_input = calculus.real(kept.together ? kept.together->first : 0),
          by_branch = calculus.real(kept.together ? kept.together->second : 0);
  skip.aligned = g.aligned * a * (a + b * by_input);
  if (skip.along_tokens) {
    *skip.along_tokens = scaled(*g.along_tokens, N(a * a));
    *g.along_tokens = scaled(*g.along_tokens, N(b * b));
  }
  if constexpr (C::next_orders) {
    const double along = g.along_mean ? 0 : g.aligned;
    skip.mean_beyond = a * (g.mean_beyond + along * b * kept.branch_mean);
    g.mean_beyond = b * (g.mean_beyond + along * a * kept.stream_mean);
  }
  scale_sums(skip.with_sums, a, calculus.value(N(a + b * by_input)));
  if (kept.together) push(g.with_sums, WithSum<X>{g.x, calculus.value(g.aligned)});
  scale_sums(g.with_sums, b, calculus.value(N(b + a * by_branch)));
  if constexpr (C::next_orders) skip.own.multiply(a);
  g.own = {};
  // A sum of two is no activation's output; of one, it is the stream.
  if (skip.tie) {
    const double kept_of = calculus.value(a * a);
    skip.tie->second *= kept_of;
    skip.tie->cross *= kept_of;
  }
  g.tie.reset();
  if (kept.after_activation && !kept.law) repeated_slopes(calculus, skip, kept.stream_share);
  if constexpr (C::next_orders) {
    skip.kinds = left_of(kept.kinds, g.kinds);
    g.kinds = right_of(kept.kinds, g.kinds);
    const N with_branch = a + b * by_input, with_skip = b + a * by_branch;
    skip.slopes = through_sum_part(g.slopes, a * a, with_branch * with_branch, kept.stream_overlap);
    g.slopes = through_sum_part(g.slopes, b * b, with_skip * with_skip, kept.stream_overlap);
    skip.beyond_pairs = g.beyond_pairs = 0;
    skip.uneven *= a * a * a * a;
    g.uneven *= b * b * b * b;
  }
  scale_slope_correlation(calculus, skip, a);
  scale_slope_correlation(calculus, g, b);
  if constexpr (C::next_orders) {
    if (of_stream && kept.law) through_law(calculus, layer, kept, *of_stream, skip, g);
  }
  skip.directions.radial = across(g.directions.radial, kept.stream_share);
  g.directions.radial = across(g.directions.radial, kept.branch_share);
  skip.directions.samples = across(g.directions.samples, kept.stream_apart);
  g.directions.samples = across(g.directions.samples, kept.branch_apart);
  skip.follows_size = g.follows_size * kept.stream_share;
  g.follows_size *= kept.branch_share;
  if constexpr (C::next_orders) {
    if (kept.dropped && kept.dropped->rate > 0)
      g.of_kept = kept_gradient(*kept.dropped, g.size_power);
    // Of the branch that is left, sizes know of the stream's what the sum has of it.
    skip.size_power *= kept.stream_varies ? kept.stream_share : 0;
    g.size_power = skip.size_power;
  }
  if (!layer.shortcut.empty()) skip = pass.run(layer.shortcut, std::move(skip));
  g.x = scaled(g.x, N(b * b));
  g.aligned = g.aligned * b * (b + a * by_branch);
  g.spread.susceptibility = 1;
  const double of_skip = values_of(calculus, skip.x).second;
  const Profile of_positions = skip.profile;
  Alike<double> by_skip;
  if constexpr (has_profiles<C, X>) by_skip = skip.x;
  Gradient<X> branch = pass.run(layer.body, std::move(g));
  std::optional<WithSum<X>> both;
  if (kept.together) both = pop(branch.with_sums);
  if (both) both->product = scaled(both->product, a);
  std::optional<X> meet;
  if constexpr (C::next_orders) meet = meeting_of_ways(pass, kept, skip, branch);
  const OverlapSlopes along = slopes_of_both_ways(kept.input && !kept.together, skip, branch,
                                                  {kept.merged.whole, 0, kept.apart});
  Gradient<X> out = sum_of_ways(pass, std::move(skip), branch, start, kept.at.tokens, kept.input,
                                both ? &both->product : nullptr);
  if constexpr (has_profiles<C, X>)
    out.profile = profile_of_sum(of_positions, by_skip, branch.profile, branch.x, out.x);
  if constexpr (C::next_orders) {
    if (meet) out.x = with_positive_second(calculus, sum(out.x, *meet));
    const double all = values_of(calculus, out.x).second;
    if (layer.shortcut.empty() && all > 0)
      add_meeting(calculus, kept, level, of_skip / all, static_cast<double>(pass.stream_width()),
                  out);
    if (both && all > 0) {
      const double left_out =
          2 * std::fabs(values_of(calculus, both->product).second) * both->left_out / all;
      out.truncation.second += left_out;
      out.truncation.cross += left_out;
    } else if (keeps_input(layer.body) && (layer.shortcut.empty() || keeps_input(layer.shortcut))) {
      // Both ways carry the same gradient where no weights lie between.
      const double share = std::clamp(kept.stream_share, 0.0, 1.0);
      const double most = 2 * std::sqrt(share * (1 - share)) + 1;
      out.truncation.second += most;
      out.truncation.cross += most;
    }
    out.slopes = before_merge(out.slopes + along, kept.merged, kept.apart);
  }
  return out;
}

}  // namespace scalecalc::moments
