#pragma once

#include <algorithm>
#include <cmath>

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
};
template <class C, class X>
OverlapDeviation overlap_deviation(const C& calculus, const Signal<X>& x) {
  const Alike<double> mean = values_of(calculus, x.x);
  const double within = mean.second - mean.cross, between = mean.second - mean.between;
  const double coherent = calculus.value(x.overlap.coherent),
               noise = calculus.value(x.overlap.noise), variance = coherent * coherent + noise;
  // Where D is all but 0, what fluctuates is not by it: no more than D^2/n of two sequences then.
  const double most = std::max(1.0, between * between / (static_cast<double>(x.width) * variance));
  const double apart =
      within > 0 && variance > 0 ? std::min(std::max(0.0, between / within), std::sqrt(most)) : 1;
  return {coherent, noise, apart};
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
  return slopes + OverlapSlopes{{share, share * x.coherent}, {share, share * x.coherent * x.apart}};
}

/// E phi'(u)phi'(v) and what it rises by with E u v, for the two kinds of pair.
struct SlopeKernel {
  struct Pair {
    double value = 0, rise = 0;
    double bend = 0;  ///< its mean over overlaps that fluctuate, less its value at their mean
  };
  Pair within, between;
};

/// The rise as the secant over what the overlap fluctuates by, so that it holds for large ones and
/// for kinks at c = 1.
template <class C>
SlopeKernel slope_kernel(C& calculus, const typename C::Function& phi, const Alike<double>& x,
                         const OverlapDeviation& overlap, const Counts& counts) {
  constexpr double least = 1e-3;
  const Token<double> u{x.mean, x.second};
  const double variance = x.second - x.mean * x.mean;
  if (!(variance > 0)) return {};
  const double deviation = std::sqrt(overlap.coherent * overlap.coherent + overlap.noise);
  const auto pair = [&](double cross, double width) {
    const double step = std::clamp(width, least * variance, variance);
    const double most = x.mean * x.mean + variance, fewest = x.mean * x.mean - variance;
    const double up = std::min(cross + step, most), down = std::max(cross - step, fewest);
    const double above = calculus.pair(phi, Moment::slope_cross, u, u, up),
                 below = calculus.pair(phi, Moment::slope_cross, u, u, down);
    const double value = calculus.pair(phi, Moment::slope_cross, u, u, cross);
    SlopeKernel::Pair made{value, up > down ? (above - below) / (up - down) : 0};
    const double room = std::min(most - cross, cross - fewest);
    if (width > 0 && width <= room)
      made.bend = (calculus.pair(phi, Moment::slope_cross, u, u, cross + width) +
                   calculus.pair(phi, Moment::slope_cross, u, u, cross - width)) /
                      2 -
                  value;
    return made;
  };
  SlopeKernel kernel;
  if (counts.tokens > 1) kernel.within = pair(x.cross, deviation);
  if (counts.batch > 1) kernel.between = pair(x.between, deviation * overlap.apart);
  return kernel;
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

/// u below phi: k = k' D, D = E phi'(u)phi'(v), and r' rises by D. `gradient`: k' of both kinds.
inline OverlapSlopes through_kernel(const OverlapSlopes& slopes, const SlopeKernel& kernel,
                                    const Alike<double>& gradient, const OverlapDeviation& u) {
  const auto pair = [&](const OverlapSlope& s, const SlopeKernel::Pair& d, double k,
                        double coherent) {
    return OverlapSlope{s.own * d.value * d.value + k * d.rise,
                        s.stream * d.value + k * d.rise * coherent};
  };
  return {pair(slopes.within, kernel.within, gradient.cross, u.coherent),
          pair(slopes.between, kernel.between, gradient.between, u.coherent * u.apart)};
}

/// Of k = k' D, averaged over overlaps that fluctuate: the covariance of k' and D, and what D bends
/// (docs/theory/layers.md#bend). What is more than k' D itself is no small term of an expansion: it
/// is left out, and its size at two tokens of a sequence stated.
struct GradientBend {
  Alike<double> kept;
  double left_out = 0;
};
inline GradientBend bend_of_gradient(const OverlapSlopes& slopes, const SlopeKernel& kernel,
                                     const Alike<double>& gradient, const OverlapDeviation& u) {
  const auto pair = [&](const OverlapSlope& s, const SlopeKernel::Pair& d, double k, double apart) {
    return d.rise * (s.own * u.noise * apart * apart + s.stream * u.coherent * apart) + k * d.bend;
  };
  const auto is_small = [](double bend, const SlopeKernel::Pair& d, double k) {
    return std::fabs(bend) <= std::fabs(k * d.value);
  };
  const double within = pair(slopes.within, kernel.within, gradient.cross, 1),
               between = pair(slopes.between, kernel.between, gradient.between, u.apart);
  GradientBend made{{0, 0, within, between}};
  if (!is_small(between, kernel.between, gradient.between)) made.kept.between = 0;
  if (!is_small(within, kernel.within, gradient.cross)) {
    made.kept.cross = 0;
    made.left_out = std::fabs(within);
  }
  return made;
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
  const auto pair = [&](const OverlapSlope& s, double apart) {
    return s.own * gain * x.noise * apart * apart + s.stream * x.coherent * apart;
  };
  const double tokens = counts.tokens, batch = counts.batch;
  return batch * tokens * (tokens - 1) * pair(slopes.within, 1) +
         batch * (batch - 1) * tokens * tokens * pair(slopes.between, x.apart);
}

}  // namespace scalecalc::moments
