#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "moments/activation_moments.hpp"
#include "moments/backward_pass.hpp"
#include "moments/forward_pass.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/window_maximum.hpp"
#include "scalecalc/error.hpp"

/// The largest of each window (docs/theory/layers.md#max-pool): of Gaussian features, or of an
/// activation of them that stands right before.
namespace scalecalc::moments {

template <class C, class X>
struct Kept<MaxPool, C, X> {
  Places at;
  Windows windows;
  WindowSlopes plain, slopes, inputs;
  Alike<double> centred;  ///< u about its mean
  bool behind_activation = false;
  double truncation = 0;  ///< of gradients, relative
};

/// What the largest is where the correlation of two positions, which fluctuates by `variance`, is
/// taken at its mean: relative to its second moment, and to E s^2 of the gradient.
template <class At>
std::pair<double, double> bend_of_windows(const WindowMaximum& found, const Alike<double>& u,
                                          double variance, const At& at) {
  const double apart = u.second - u.cross;
  if (!(variance > 0) || !(apart > 0)) return {0, 0};
  const double step = std::min({std::sqrt(variance), apart, u.cross - u.mean * u.mean});
  const double reach = step > 0 ? step : std::min(std::sqrt(variance), apart);
  const WindowMaximum up = at(u.cross + reach);
  if (!(step > 0)) {
    // Around 0 a correlation has a slope alone on either side.
    const double share = std::sqrt(variance) / reach;
    return {share * std::fabs(up.value.second / found.value.second - 1) / 2, 0};
  }
  const WindowMaximum down = at(u.cross - step);
  const double scale = variance / (step * step) / 2;
  const auto bend = [&](double a, double b, double of) {
    return of > 0 ? scale * std::fabs(a + b - 2 * of) / of : 0;
  };
  return {bend(up.value.second, down.value.second, found.value.second),
          bend(up.plain.same, down.plain.same, found.plain.same)};
}

template <class C, class X>
Signal<X> max_pool_forward(C& calculus, const MaxPool& layer, const Activation& phi,
                           const Signal<X>& in, Signal<X> out, Kept<MaxPool, C, X>& kept) {
  kept.windows = windows_of(layer);
  const Alike<double> u = values_of(calculus, in.x);
  const auto at = [&](double cross) {
    return window_maximum(phi, {u.mean, u.second, cross, u.between}, kept.windows);
  };
  const WindowMaximum found = at(u.cross);
  kept.plain = found.plain;
  kept.slopes = found.slopes;
  kept.inputs = found.inputs;
  const double square = u.mean * u.mean;
  kept.centred = {0, u.second - square, u.cross - square, u.between - square};
  const double overlap = calculus.value(in.overlap.variance());
  const auto [bend, bend_of_same] = bend_of_windows(found, u, overlap, at);
  kept.truncation = bend_of_same;
  calculus.omit(bend + found.error, bend + found.error);
  // The overlap of two windows follows that of their largest, any of their positions: overlaps that
  // fluctuate pair by pair are averaged over both windows.
  const double positions = mean_taps(kept.windows);
  const X slopes = uniform(in.x, Alike<double>{0, found.slopes.own, found.slopes.pairs / positions,
                                               found.slopes.between / positions});
  out.x = uniform(out.x, found.value);
  out.overlap = overlap_through_activation(calculus, in, slopes, out.x, 1);
  out.fresh = 0;
  out.tokens = layer.out_height() * layer.out_width();
  const double second = found.value.second;
  out.kurtosis = second > 0 ? found.fourth / (second * second) : 3;
  out.normalised = false;
  out.mixture = {};
  out.flat.reset();
  out.none = 0;
  out.same_words = false;
  calculus.assume("max_pool", "two positions of an image have one correlation, near or far");
  return out;
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const MaxPool& layer, Signal<X> x) {
  C& calculus = pass.calculus();
  calculus.enter(layer.path);
  if constexpr (!C::next_orders) {
    throw Error(ErrorKind::input, "no formula gives the largest of a window", layer.path,
                "use --engine quadrature");
  } else {
    std::optional<ActivationChain<X>> chain = pass.take_chain();
    const auto phi = calculus.function(chain ? chain->function : "identity");
    Kept<MaxPool, C, X> kept;
    kept.behind_activation = chain.has_value();
    Signal<X> input = chain ? std::move(chain->input) : x;
    take_profile(input);
    const Profile positions = take_profile(x);
    Signal<X> y = max_pool_forward(calculus, layer, phi->activation(), input, std::move(x), kept);
    if constexpr (has_profiles<C, X>) {
      if (positions)
        give_sizes(y, over_windows(layer, positions->at), over_windows(layer, positions->row));
    }
    kept.at = {pass.site(layer.path, "max_pool", y), 0, layer.height * layer.width};
    pass.template keep<MaxPool>(std::move(kept));
    return y;
  }
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const MaxPool& layer, Gradient<X> g) {
  const auto& kept = pass.template take<MaxPool>();
  pass.note(kept.at.site, g);
  if constexpr (C::next_orders) {
    // All positions together have what all windows have, whatever each has.
    Profile positions;
    if (has_profiles<C, X> && g.profile)
      positions =
          make_profile(from_windows(layer, g.profile->at), from_windows(layer, g.profile->row));
    const Alike<double> above = values_of(pass.calculus(), g.x);
    const auto below = [&](const WindowSlopes& slopes) {
      return through_windows(kept.windows, slopes, above);
    };
    g.truncation.second += kept.truncation;
    g.truncation.cross += kept.truncation;
    // The largest are not any: u_t g_t u_s g_s of theirs is no product of means.
    SlopeCorrelation<X> known{uniform(g.x, kept.centred),
                              uniform(g.x, levelled(below(kept.inputs), positions))};
    if (kept.behind_activation)
      g.below_activation = BelowActivation<X>{uniform(g.x, levelled(below(kept.slopes), positions)),
                                              std::move(known)};
    else if (kept.centred.second > 0)
      g.slope_correlation = std::move(known);
    g.x = uniform(g.x, below(kept.plain));
    g.profile = std::move(positions);
  }
  g.directions = {};
  forget_tokens(g);
  return g;
}

}  // namespace scalecalc::moments
