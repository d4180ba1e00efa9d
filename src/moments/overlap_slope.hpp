#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "moments/calculus.hpp"

/// Two tokens whose inputs overlap more in a draw have gradients that overlap more too. A weight's
/// gradient sums (x_t.x_u)(g_t.g_u) over pairs of tokens, so that it has the covariance of the two
/// overlaps beside the product of their means: dk/dr times the variance of x_t.x_u/n.
namespace scalecalc::moments {

/// How far overlaps fluctuate, of both kinds of pair: those of two sequences, which may be further
/// apart, as D^2 says.
struct OverlapDeviation {
  double coherent = 0, noise = 0;  ///< as in Overlap
  double apart = 1;                ///< D of two sequences over D of one
  /// Of coherent times apart, what pairs of two sequences have: mixes of attention have little, as
  /// two sequences have no keys in common (docs/theory/finite-width.md#overlap-slopes).
  double of_two = 1;
  double own = 0;  ///< of coherent, what tokens' own values make of mixes
};
template <class C, class X>
OverlapDeviation overlap_deviation(const C& calculus, const Signal<X>& x) {
  const Alike<double> mean = values_of(calculus, x.x);
  const double within = mean.second - mean.cross, between = mean.second - mean.between;
  const double coherent = calculus.value(x.overlap.coherent),
               noise = calculus.value(x.overlap.noise), variance = coherent * coherent + noise;
  // Where D is all but 0, what fluctuates is not by it: no more than D^2/n of two sequences then, n
  // the fewest features so far: the overlap of two inputs of few features stays what it is.
  const auto features =
      static_cast<double>(x.narrowest > 0 ? std::min(x.narrowest, x.width) : x.width);
  // Of equal tokens, those of two sequences are what they are of independent features.
  constexpr double nearly = 1e-9;
  if (!(variance > 0) && between > 0)
    return {nearly * between / std::sqrt(features), 0, 1 / nearly};
  if (!(variance > 0)) return {coherent, noise, 1};
  const double most = std::sqrt(std::max(1.0, between * between / (features * variance)));
  if (!(within > 0)) return {coherent, noise, most};
  return {coherent, noise, std::min(std::max(0.0, between / within), most)};
}

/// Of a gradient, what is left of its sum over the tokens of a sequence: 0 where it adds up to 0,
/// as below a norm over samples; 1 of tokens that know nothing of each other, or more.
inline double level_of_sum(const Alike<double>& g, double tokens) {
  return g.second > 0 ? std::clamp(1 + (tokens - 1) * g.cross / g.second, 0.0, 1.0) : 1;
}

/// Of mixes that such a gradient meets, of which x.own is not 0: about their mean over tokens rows
/// of weights that are nearly alike have nothing of a token's own value.
inline OverlapDeviation about_mean(OverlapDeviation x, double level) {
  const double all = x.coherent;
  x.coherent -= (1 - level) * x.own;
  x.of_two = x.coherent > 0 ? x.of_two * level * all / x.coherent : 0;
  x.own *= level;
  return x;
}

/// y = x W: r' = forward r, k = back k'.
inline OverlapSlopes through_map(const OverlapSlopes& slopes, double forward, double back) {
  return slopes.each([&](const OverlapSlope& s) {
    return OverlapSlope{s.own * forward * back, s.stream * back};
  });
}

/// A gradient with a part along x, E g_t g_u = .. + share r. Of the overlap of two tokens the mean
/// over T of them has 1/T^2, which is left out.
inline OverlapSlopes with_part_along(const OverlapSlopes& slopes, double share,
                                     const OverlapDeviation& x, const AlongMean& mean = {}) {
  if (mean) return slopes;
  return slopes + OverlapSlopes{{share, share * x.coherent},
                                {share, share * x.coherent * x.apart * x.of_two}};
}

/// E phi'(u)phi'(v) and what it rises by with E u v, for the two kinds of pair.
struct SlopeKernel {
  struct Pair {
    double value = 0, rise = 0;
    double bend = 0;  ///< its mean over overlaps that fluctuate, less its value at their mean
  };
  Pair within, between;
};

/// f of E u v at both kinds of pair. The rise is the secant over what the overlap fluctuates by, so
/// that it holds for large ones and for kinks at c = 1.
template <class F>
SlopeKernel kernel_of(const F& f, const Alike<double>& x, const OverlapDeviation& overlap,
                      const Counts& counts) {
  constexpr double least = 1e-3;
  const double variance = x.second - x.mean * x.mean;
  if (!(variance > 0)) return {};
  const double deviation = std::sqrt(overlap.coherent * overlap.coherent + overlap.noise);
  const auto pair = [&](double cross, double width) {
    const double step = std::clamp(width, least * variance, variance);
    const double most = x.mean * x.mean + variance, fewest = x.mean * x.mean - variance;
    const double up = std::min(cross + step, most), down = std::max(cross - step, fewest);
    const double value = f(cross);
    SlopeKernel::Pair made{value, up > down ? (f(up) - f(down)) / (up - down) : 0};
    const double room = std::min(most - cross, cross - fewest);
    if (width > 0 && width <= room) made.bend = (f(cross + width) + f(cross - width)) / 2 - value;
    return made;
  };
  SlopeKernel kernel;
  if (counts.tokens > 1) kernel.within = pair(x.cross, deviation);
  if (counts.batch > 1) kernel.between = pair(x.between, deviation * overlap.apart);
  return kernel;
}
template <class C>
SlopeKernel slope_kernel(C& calculus, const typename C::Function& phi, const Alike<double>& x,
                         const OverlapDeviation& overlap, const Counts& counts) {
  const Token<double> u{x.mean, x.second};
  return kernel_of(
      [&](double cross) { return calculus.pair(phi, Moment::slope_cross, u, u, cross); }, x,
      overlap, counts);
}
/// The same of E phi phi'(u) phi phi'(v), which a gradient along phi(u) makes.
inline SlopeKernel own_kernel(const WidthMoments& phi, const Alike<double>& x,
                              const OverlapDeviation& overlap, const Counts& counts) {
  const double square = x.mean * x.mean;
  return kernel_of(
      [&](double cross) {
        return phi.own_pair(std::clamp((cross - square) / (x.second - square), -1.0, 1.0));
      },
      x, overlap, counts);
}

/// Below merge_overlap; `apart` as in OverlapDeviation.
inline OverlapSlopes before_merge(const OverlapSlopes& slopes, const MergedOverlap& merged,
                                  double apart) {
  if (!(merged.whole > 0)) return slopes;
  const auto pair = [&](const OverlapSlope& s, double deviation) {
    return OverlapSlope{deviation > 0 ? s.stream / deviation : 0, s.stream * merged.coherent};
  };
  return {pair(slopes.within, merged.whole), pair(slopes.between, merged.whole * apart)};
}

/// What an activation y = phi(u) keeps of the overlaps of its two sides, for the way back.
struct ActivationOverlaps {
  OverlapDeviation input, output;
  SlopeKernel slope;      ///< E phi'(u)phi'(v)
  SlopeKernel own;        ///< E phi phi'(u) phi phi'(v)
  Alike<double> product;  ///< E phi(u)phi(v)
};
template <class C>
void note_kernels(C& calculus, const typename C::Function& phi, const Alike<double>& x,
                  const Counts& counts, ActivationOverlaps& overlaps) {
  const double variance = x.second - x.mean * x.mean;
  if (!(variance > 0)) return;
  overlaps.slope = slope_kernel(calculus, phi, x, overlaps.input, counts);
  overlaps.own = own_kernel(calculus.width(phi, x.mean, variance), x, overlaps.input, counts);
}
/// Of k = k' D, averaged over overlaps that fluctuate: the covariance of k' and D, and what D bends
/// (docs/theory/layers.md#bend). What is more than k' D itself is no small term of an expansion: it
/// is left out, and its size at two tokens of a sequence stated.
struct GradientBend {
  Alike<double> kept;
  double left_out = 0;
};
struct SlopesBelow {
  OverlapSlopes slopes;
  GradientBend bend;
};
/// Below phi, of a gradient a phi(u) + g' (docs/theory/finite-width.md#overlap-slopes): of g' k =
/// k' D, D = E phi'(u)phi'(v), and r' rises by D; of a phi(u) k = a^2 E phi phi'(u) phi phi'(v).
/// `gradient`: E g_t g_u of both kinds; `along`: a^2.
inline SlopesBelow slopes_below(const OverlapSlopes& slopes, double along,
                                const Alike<double>& gradient, const ActivationOverlaps& phi) {
  const OverlapSlopes rest = with_part_along(slopes, -along, phi.output);
  struct Pair {
    OverlapSlope slope;
    double bend = 0, left_out = 0;
  };
  const auto pair = [&](const OverlapSlope& s, const SlopeKernel::Pair& d,
                        const SlopeKernel::Pair& own, double g, double product, double apart) {
    const double k = g - along * product, coherent = phi.input.coherent * apart;
    const double rise = k * d.rise + along * own.rise;
    Pair made{{s.own * d.value * d.value + rise, s.stream * d.value + rise * coherent}};
    made.bend = d.rise * (s.own * phi.input.noise * apart * apart + s.stream * coherent) +
                k * d.bend + along * own.bend;
    // Neither is what has overflowed.
    if (!(std::fabs(made.bend) <= std::fabs(k * d.value) + along * std::fabs(own.value)))
      std::swap(made.bend, made.left_out);
    return made;
  };
  const Pair within = pair(rest.within, phi.slope.within, phi.own.within, gradient.cross,
                           phi.product.cross, 1),
             between = pair(rest.between, phi.slope.between, phi.own.between, gradient.between,
                            phi.product.between, phi.input.apart);
  return {{within.slope, between.slope},
          {{0, 0, within.bend, between.bend}, std::fabs(within.left_out)}};
}

/// What a sum y = a x + b F does, for x or for F: its gradient is `back` of that of y, r of y has
/// `forward` of its own, and the stream's standard deviation becomes `stream` of that of y.
inline OverlapSlopes through_sum_part(const OverlapSlopes& slopes, double back, double forward,
                                      double stream) {
  return slopes.each([&](const OverlapSlope& s) {
    return OverlapSlope{s.own * back * forward, s.stream * back * stream};
  });
}

/// E of (x_t.x_u)(g_t.g_u) beside the product of means, added up over all pairs. `gain`: of r from
/// the weights' input x to their output.
inline double overlap_covariance(const OverlapSlopes& slopes, const OverlapDeviation& x,
                                 double gain, const Counts& counts) {
  const auto pair = [&](const OverlapSlope& s, double apart, double coherent) {
    return s.own * gain * x.noise * apart * apart + s.stream * coherent * apart;
  };
  const double tokens = counts.tokens, batch = counts.batch;
  return batch * tokens * (tokens - 1) * pair(slopes.within, 1, x.coherent) +
         batch * (batch - 1) * tokens * tokens *
             pair(slopes.between, x.apart, x.coherent * x.of_two);
}

}  // namespace scalecalc::moments
