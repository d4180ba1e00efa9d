#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "moments/layers/residual.hpp"

/// y = F_1(x) + F_2(x) + ... (docs/theory/layers.md#parallel): seconds and crosses add up, since
/// each F_j ends in weights that know nothing of the others.
namespace scalecalc::moments {

/// The sum of the branches so far, and one more.
struct BranchSum {
  MixedSum kinds;
  double share = 1;  ///< of the sum so far in the new one's second
};

template <class C, class X>
struct Kept<Parallel, C, X> {
  Places at;
  std::vector<BranchSum> sums;
  std::optional<X> input;  ///< where all ways may bring back parts along it
};

/// `start`: what both begin with. Overlaps of both follow its own; what each adds is independent
/// (docs/theory/attention.md#overlap).
template <class C, class X>
Signal<X> branches_forward(C& calculus, const NormVariance& start, const Signal<X>& left,
                           const Signal<X>& right, const Counts& counts, BranchSum& made) {
  using N = typename C::Number;
  Signal<X> out = sum_forward(calculus, N(1), N(1), left, right, counts, &made.kinds);
  out.overlap = {N(left.overlap.coherent + right.overlap.coherent),
                 N(left.overlap.noise + right.overlap.noise)};
  if constexpr (C::next_orders) {
    const Alike<double> x = values_of(calculus, left.x), f = values_of(calculus, right.x);
    out.spread = through_branches(start, left.spread, right.spread, x, f,
                                  static_cast<double>(out.width), counts);
    // x.f/n of both sums, of new draws on either side.
    out.fresh = left.fresh + right.fresh +
                2 * std::max(0.0, x.second - x.cross) * std::max(0.0, f.second - f.cross) /
                    static_cast<double>(out.width);
    const double total = values_of(calculus, out.x).second;
    if (total > 0) made.share = x.second / total;
  }
  return out;
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Parallel& layer, Signal<X> x) {
  Signal<X> start = std::move(x);
  const double follows = start.spread.susceptibility,
               of_distance = start.spread.distance_susceptibility,
               distance = start.spread.distance_slope;
  start_branch(start.spread);
  Kept<Parallel, C, X> kept;
  Signal<X> y = pass.run(layer.branches.front(), start);
  for (std::size_t i = 1; i < layer.branches.size(); ++i) {
    const Signal<X> more = pass.run(layer.branches[i], start);
    pass.calculus().enter(layer.path);
    y = branches_forward(pass.calculus(), start.spread, y, more, pass.counts(y),
                         kept.sums.emplace_back());
  }
  y.spread.distance_susceptibility =
      y.spread.distance_susceptibility * distance + y.spread.susceptibility * of_distance;
  y.spread.distance_slope *= distance;
  y.spread.susceptibility *= follows;
  if (C::next_orders &&
      (pass.averages_tokens() ||
       std::all_of(layer.branches.begin(), layer.branches.end(), may_return_along)))
    kept.input = std::move(start.x);
  kept.at = {pass.site(layer.path, "parallel", y), 0, start.tokens};
  pass.template keep<Parallel>(std::move(kept));
  return y;
}

/// The last branch first, as the tape has them. `start`: the covariance at y, since there.
template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Parallel& layer, Gradient<X> g) {
  C& calculus = pass.calculus();
  const auto& kept = pass.template take<Parallel>();
  pass.note(kept.at.site, g);
  const auto before = g.log_covariance.propagator;
  g.log_covariance.propagator.setIdentity();
  const LogCovariance start = g.log_covariance;
  const double follows = std::exchange(g.spread.susceptibility, 1.0);
  const NormVariance spread = g.spread;
  const auto sum = [&](Gradient<X> left, const Gradient<X>& right) {
    const NormVariance of_left = left.spread;
    const X x = left.x;
    Gradient<X> made = sum_of_ways(pass, std::move(left), right, start, kept.at.tokens, kept.input);
    if constexpr (C::next_orders)
      made.spread = through_branches(
          spread, of_left, right.spread, values_of(calculus, x), values_of(calculus, right.x),
          static_cast<double>(pass.stream_width()), pass.counts(kept.at.tokens));
    return made;
  };
  std::optional<Gradient<X>> out;
  const auto add = [&](Gradient<X> more) {
    out = out ? sum(std::move(more), *out) : std::move(more);
  };
  for (std::size_t i = layer.branches.size() - 1; i > 0; --i) {
    const BranchSum& made = kept.sums[i - 1];
    Gradient<X> last = g;
    if constexpr (C::next_orders) {
      last.kinds = right_of(made.kinds, g.kinds);
      g.kinds = left_of(made.kinds, g.kinds);
    }
    // A norm further up has divided by the size of the sum.
    last.follows_size = g.follows_size * (1 - made.share);
    g.follows_size *= made.share;
    last.directions.radial = across(g.directions.radial, 1 - made.share);
    g.directions.radial = across(g.directions.radial, made.share);
    add(pass.run(layer.branches[i], std::move(last)));
  }
  add(pass.run(layer.branches.front(), std::move(g)));
  out->spread.susceptibility *= follows;
  out->log_covariance.propagator = out->log_covariance.propagator * before;
  return *std::move(out);
}

}  // namespace scalecalc::moments
