#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "moments/layers/residual.hpp"
#include "scalecalc/error.hpp"

/// Two streams, x with a norm behind each sum and z with one at the end, fed by the same branches
/// (docs/theory/layers.md#residual). Beside the moments of either, those of their product are
/// followed: E x z forward, E of the product of their gradients back.
namespace scalecalc::moments {

template <class C, class X>
struct Kept<DualStream, C, X> {
  Places at;
  std::vector<X> scales;       ///< of the norms, factors of the streams' covariance
  std::vector<double> shares;  ///< of the branches, in E of the sums' squares
  /// Of the sums' deviations of overlaps, what follows the stream (Kept<Residual>::stream_overlap).
  std::vector<double> stream_overlaps;
  X post, dual, both;        ///< x, z and their mean product at the end
  OverlapDeviation overlap;  ///< of their sum y
};

/// Moments without a mean, each larger by as much.
template <class X>
X shifted(const X& x, const typename X::Number& by) {
  using N = typename X::Number;
  return without_mean(each(x, [&](const N& entry) { return N(entry + by); }));
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const DualStream& layer, Signal<X> x) {
  using N = typename C::Number;
  C& calculus = pass.calculus();
  if (!is_token_norm(layer.norm.kind) && layer.norm.kind != NormKind::none)
    throw Error(ErrorKind::input, "no rule covers two streams with a norm over samples", layer.path,
                "layernorm or rmsnorm, as ResiDual has it");
  if (x.own)
    throw Error(ErrorKind::input, "no rule covers two streams with a tied head", layer.path,
                "another placement, or tie_head = false");
  const auto mean = [](const Signal<X>& signal) { return N(average(signal.x).mean); };
  settle(x);
  Kept<DualStream, C, X> kept;
  Signal<X> z = x;
  X both = without_mean(x.x);  // E x z
  for (const Residual& sublayer : layer.sublayers) {
    Signal<X> start = x;
    start_branch(start.spread);
    Signal<X> branch = pass.run(sublayer.body, std::move(start));
    calculus.enter(sublayer.path);
    const N a = calculus.skip(sublayer), b = calculus.branch(sublayer), b2 = b * b;
    both = combine(both, branch.x, [&](const N& w, const N& f) { return N(a * w + b2 * f); });
    both = shifted(both, N(b * mean(branch) * (a * mean(x) + mean(z))));
    // The branch follows the size of x, of which z knows nothing.
    Signal<X> apart = branch;
    apart.spread.susceptibility = 0;
    z = sum_forward(calculus, N(1), b, z, apart, pass.counts(z));
    Signal<X> total = residual_forward(calculus, sublayer, x, branch, pass.counts(x));
    if (sublayer.norm->kind == NormKind::layernorm) both = shifted(both, N(-mean(total) * mean(z)));
    if constexpr (C::next_orders) {
      const double all = values_of(calculus, total.x).second,
                   own = calculus.value(b2) * values_of(calculus, branch.x).second;
      kept.shares.push_back(all > 0 ? std::clamp(own / all, 0.0, 1.0) : 1);
      const double together =
          calculus.value(a * a) * x.overlap.coherent + calculus.value(b2) * branch.overlap.coherent;
      kept.stream_overlaps.push_back(total.overlap.coherent > 0 ? together / total.overlap.coherent
                                                                : 1);
      pass.keep_overlaps(kept.stream_overlaps.back());
    }
    kept.scales.push_back(norm_scale(calculus, *sublayer.norm, total.x));
    both = product(both, kept.scales.back());
    x = forward_step(pass, *sublayer.norm, std::move(total), sublayer.path, "residual");
  }
  if (layer.norm.kind == NormKind::layernorm) both = shifted(both, N(-mean(x) * mean(z)));
  kept.scales.push_back(norm_scale(calculus, layer.norm, z.x));
  const Signal<X> normed = forward_step(pass, layer.norm, std::move(z));
  calculus.enter(layer.path);
  const X shared = product(both, kept.scales.back());
  const X together = shifted(shared, N(-mean(x) * mean(normed)));
  Signal<X> y = sum_forward(calculus, N(1), N(1), x, normed, pass.counts(x), nullptr, &together);
  if constexpr (C::next_orders) {
    // Of two normalised tokens at a cosine rho, x.z varies by (1 - rho^2)^2/n, where a sum takes 1
    // - rho^2 of it, as for parts of any size.
    const double m = values_of(calculus, x.x).second;
    const double rho = m > 0 ? values_of(calculus, shared).second / m : 0;
    y.spread.token_variance *= std::max(0.0, 1 - rho * rho);
    y.spread.batch_variance *= std::max(0.0, 1 - rho * rho);
    // What x.F, of variance 1/n, does to a norm and to x.z together is left out.
    y.truncation.second += 1 / static_cast<double>(layer.norm.width);
    y.truncation.cross += 1 / static_cast<double>(layer.norm.width);
  }
  kept.at = {pass.site(layer.path, "dual", y), 0, x.tokens};
  if constexpr (C::next_orders) {
    kept.overlap = overlap_deviation(calculus, y);
  }
  kept.post = std::move(x.x);
  kept.dual = normed.x;
  kept.both = shared;
  pass.template keep<DualStream>(std::move(kept));
  return y;
}

/// A gradient a (x + z) reaches either norm with all of it along a sum of both outputs; each
/// takes its own output out, rho = E[x z], and leaves a (z - rho x) or a (x - rho z). `post`,
/// `dual`, `shared`: x, z and their mean product.
template <class X>
void split_aligned(const X& post, const X& dual, const X& shared, Gradient<X>& g, Gradient<X>& gz,
                   X& both) {
  using N = typename X::Number;
  const N second = average(post).second, a2 = g.aligned * g.aligned;
  const N rho = average(shared).second / second, rho2 = rho * rho;
  const auto mix = [&](const N& of_post, const N& of_dual, const N& of_shared) {
    return scaled(sum(sum(scaled(post, of_post), scaled(dual, of_dual)), scaled(shared, of_shared)),
                  a2);
  };
  const X rest = sum(g.x, mix(N(-1), N(-1), N(-2)));
  g.x = without_mean(sum(rest, mix(rho2, N(1), N(-2 * rho))));
  gz.x = without_mean(sum(rest, mix(N(1), rho2, N(-2 * rho))));
  both = without_mean(sum(rest, mix(N(-rho), N(-rho), N(1 + rho2))));
  g.aligned = gz.aligned = N(0);
}

/// The same of a gradient that has its part along the sum at the one token that a head reads.
template <class X>
void split_read_token(const X& post, const X& dual, const X& shared, Gradient<X>& g,
                      Gradient<X>& gz, X& both) {
  using N = typename X::Number;
  const ReadToken read = *g.read_token;
  const auto at_token = [&](const X& x) {
    const Alike<N> token = read.last ? of_last(x) : of_first(x);
    const Alike<N> value{N(0), token.second, token.second, token.between};
    return read.last ? on_last(x, value) : on_kind(x, Kind::class_tokens, value);
  };
  g.aligned = read.aligned;
  split_aligned(at_token(post), at_token(dual), at_token(shared), g, gz, both);
  for (Gradient<X>* each : {&g, &gz}) {
    each->directions.radial = read.radial;
    each->read_token.reset();
  }
}

/// g: gradient of x + F on its way to x'; gz: that of z; `both` = E[g gz]. F gets all of it.
template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const DualStream& layer, Gradient<X> g) {
  using N = typename C::Number;
  C& calculus = pass.calculus();
  auto& kept = pass.template take<DualStream>();
  const auto take_scale = [&] {
    X scale = std::move(kept.scales.back());
    kept.scales.pop_back();
    return scale;
  };
  pass.note(kept.at.site, g);
  Gradient<X> gz = g;
  Gradient<X> whole_sum = g;
  // Of a (x + z), E x (x + z) is along either output.
  const N second = average(kept.post).second;
  if constexpr (C::next_orders) {
    const N rho = second > 0 ? N(average(kept.both).second / second) : N(0);
    whole_sum.aligned = g.aligned * (1 + rho);
    whole_sum.uneven = whole_sum.beyond_pairs = 0;
    if (whole_sum.read_token) whole_sum.read_token->aligned *= 1 + rho;
    // y_t.y_u has (1 + rho)^2 of that of either; of a y what is left of a is along neither.
    g.slopes =
        through_map(with_part_along(g.slopes, -g.aligned * g.aligned, kept.overlap, g.along_mean),
                    calculus.value((1 + rho) * (1 + rho)), 1);
    gz.slopes = {};
  }
  g.aligned = g.aligned * share_along(g.along_mean, kept.post);
  g.along_mean = gz.along_mean = whole_sum.along_mean = {};
  const Gradient<X>* shown = &whole_sum;
  X both;
  bool is_split = false;
  if constexpr (C::next_orders) {
    is_split = static_cast<bool>(g.read_token);
    if (is_split) split_read_token(kept.post, kept.dual, kept.both, g, gz, both);
  }
  if (!is_split) split_aligned(kept.post, kept.dual, kept.both, g, gz, both);
  g.uneven = gz.uneven = 0;
  g.beyond_pairs = gz.beyond_pairs = 0;
  gz = backward_step(pass, layer.norm, std::move(gz), shown);
  gz.kinds = {};
  both = product(both, take_scale());
  for (auto sublayer = layer.sublayers.rbegin(); sublayer != layer.sublayers.rend(); ++sublayer) {
    g = backward_step(pass, *sublayer->norm, std::move(g), std::exchange(shown, nullptr));
    g.kinds = {};
    both = product(both, take_scale());
    const N a = calculus.skip(*sublayer), b = calculus.branch(*sublayer);
    const LogCovariance start = g.log_covariance;
    g.log_covariance.propagator.setIdentity();
    Gradient<X> whole = g;
    whole.directions = {};
    whole.x = scaled(sum(sum(g.x, gz.x), scaled(both, N(2))), N(b * b));
    if constexpr (C::next_orders) {
      // A norm has divided by the size of the sum, of which the branch is a share.
      whole.follows_size = g.follows_size * kept.shares.back();
      g.follows_size *= 1 - kept.shares.back();
      kept.shares.pop_back();
      // What reaches the branch by z follows the overlaps as what comes by x does.
      const double by_post = values_of(calculus, g.x).second,
                   all = values_of(calculus, whole.x).second;
      const double stream = kept.stream_overlaps.back(), a2 = calculus.value(a * a);
      kept.stream_overlaps.pop_back();
      whole.slopes = by_post > 0
                         ? through_sum_part(g.slopes, all / by_post, calculus.value(b * b), stream)
                         : OverlapSlopes{};
      g.slopes = through_sum_part(g.slopes, a2, a2, stream);
    }
    g.x = scaled(g.x, N(a * a));
    both = scaled(both, a);
    g = sum_of_ways(pass, std::move(g), pass.run(sublayer->body, std::move(whole)), start,
                    kept.at.tokens);
  }
  g.x = sum(sum(g.x, gz.x), scaled(both, N(2)));
  return g;
}

}  // namespace scalecalc::moments
