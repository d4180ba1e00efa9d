#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "moments/along_mean.hpp"
#include "moments/calculus.hpp"
#include "moments/equal_words.hpp"
#include "moments/image_profile.hpp"
#include "moments/norm_variance.hpp"
#include "moments/projection.hpp"
#include "moments/zero_tokens.hpp"

/// y = x W + b (docs/theory/layers.md#linear): m' = n_in sw2 m + sb2, crosses alike.
namespace scalecalc::moments {

/// Noise of |xW|^2 in units of 1/n_out. Orthogonal weights keep every overlap when they do not
/// project (docs/theory/layers.md#orthogonal); a projection onto n_out of n_in directions keeps 1 -
/// n_out/n_in of the noise.
inline double weight_noise(const Linear& layer) {
  if (layer.distribution != Distribution::orthogonal) return 2;
  const double kept = static_cast<double>(layer.fan_out) / static_cast<double>(layer.fan_in);
  return kept < 1 ? 2 * (1 - kept) : 0;
}

/// Of sums of fan-in independent inputs, relative to their variance's square: the fourth cumulant
/// that two of independent tokens have together. E w^4/(E w^2)^2 - 3 over fan-in, -6/5 of uniform
/// entries, -0.634 of normal ones cut at two standard deviations; of rows of an orthogonal matrix
/// of N, -2/(N + 2).
inline double weight_cumulant(const Linear& layer) {
  const auto fan_in = static_cast<double>(layer.fan_in);
  constexpr double inside = 0.954499736103642,
                   edge = 0.053990966513188;  // P(|z| < 2), density at 2
  constexpr double second = 1 - 4 * edge / inside, fourth = 3 * second - 16 * edge / inside;
  switch (layer.distribution) {
    case Distribution::uniform: return -6.0 / 5 / fan_in;
    case Distribution::truncated_normal: return (fourth / (second * second) - 3) / fan_in;
    case Distribution::orthogonal:
      return -2 / (static_cast<double>(std::max(layer.fan_in, layer.fan_out)) + 2);
    case Distribution::normal: break;
  }
  return 0;
}

/// Of W^T: what noise depends on.
inline Linear transposed(const Linear& layer) {
  Linear made;
  made.distribution = layer.distribution;
  made.fan_in = layer.fan_out;
  made.fan_out = layer.fan_in;
  return made;
}

/// Relative variance over features of (W^T W)_ii, the squared length of a feature's weights: 2/n
/// of n Gaussian ones, less the excess of their fourth moment; orthogonal ones of n < n_in have the
/// lengths of Beta((n)/2, (n_in - n)/2), the others are alike.
inline double length_scatter(const Linear& layer) {
  const double n = static_cast<double>(layer.fan_out), in = static_cast<double>(layer.fan_in);
  switch (layer.distribution) {
    case Distribution::orthogonal: return n < in ? 2 * (in - n) / (n * (in + 2)) : 0;
    case Distribution::uniform: return 0.8 / n;  // E w^4 = 9/5 of E w^2 squared
    default: return 2 / n;
  }
}

/// `gain` = n_in sw2.
template <class N>
Overlap<N> overlap_through_linear(const Overlap<N>& x, const N& gain) {
  return {x.coherent * gain, x.noise * gain * gain};
}

/// Where a stream starts: Gaussian features, D/sqrt(d) the deviation of an overlap.
template <class C, class X>
Signal<X> input_signal(C& calculus, X x, std::int64_t width, std::int64_t tokens,
                       const Counts& counts) {
  using N = typename C::Number;
  using std::sqrt;
  Signal<X> made;
  const auto mean = average(x);
  made.overlap.coherent = (mean.second - mean.cross) / sqrt(N(calculus.size(width, "width")));
  made.x = std::move(x);
  if constexpr (C::next_orders)
    made.spread = gaussian_spread(values_of(calculus, made.x), static_cast<double>(width), counts);
  made.width = width;
  made.tokens = tokens;
  return made;
}

/// What of E y^2 comes from x: the rest is the bias's.
template <class C, class X>
double input_share(C& calculus, const Linear& layer, const X& x) {
  const double gain = static_cast<double>(layer.fan_in) * calculus.value(calculus.variance(layer));
  const double m = gain * values_of(calculus, x).second;
  return m > 0 ? m / (m + calculus.value(calculus.bias_variance(layer))) : 0;
}

template <class C, class X>
Signal<X> linear_forward(C& calculus, const Linear& layer, const Signal<X>& in,
                         const Counts& counts) {
  using N = typename C::Number;
  const N gain = calculus.size(layer.fan_in, "fan_in") * calculus.variance(layer);
  const N bias = calculus.bias_variance(layer);
  Signal<X> out = in;
  out.narrowest = in.narrowest > 0 ? std::min(in.narrowest, in.width) : in.width;
  out.width = layer.fan_out;
  out.normalised = out.sinusoids = false;
  out.own.reset();
  out.kurtosis = 3;
  out.size_excess = out.sphere_excess = out.mean_pairs = 0;
  out.mixture = {};
  out.flat.reset();
  const auto pair = [&](const auto&, const auto&, const N& cross) { return gain * cross + bias; };
  out.x = map(
      in.x,
      [&](const Token<N>& x) {
        return Token<N>{N(0), gain * x.second + bias};
      },
      pair);
  out.overlap = overlap_through_linear(in.overlap, gain);
  if constexpr (C::next_orders) {
    const Alike<double> x = values_of(calculus, in.x), y = values_of(calculus, out.x);
    const double apart = x.second - x.cross;
    const double of_tokens = overlap_of_tokens(in),
                 centred = std::max(0.0, calculus.value(in.overlap.variance()) - of_tokens);
    const double by = calculus.value(gain);
    out.head_overlap.one = out.head_overlap.average;
    out.none = layer.bias ? 0 : chance_of_zero(calculus, in, false);
    out.map_overlap = apart > 0 ? std::min(1.0, centred / (apart * apart)) : 0;
    out.mask_overlap = by * by * of_tokens;
    const double share = input_share(calculus, layer, in.x);
    out.weight_cumulant = weight_cumulant(layer) * share * share;
    // Of a rotation the sizes of tokens have their own: of them 2/n of new features is none of it.
    out.input_kurtosis = layer.distribution == Distribution::orthogonal ? 0 : in.kurtosis;
    const double noise = weight_noise(layer);
    out.fresh = fresh_overlap(y, noise, static_cast<double>(layer.fan_out));
    out.spread =
        through_linear(in.spread, share, noise, y, static_cast<double>(layer.fan_out), counts);
    if (in.profile)
      out.profile = make_profile(
          in.profile->at * share + (1 - share),
          pairs_of(x, in.profile, in.tokens) * calculus.value(gain) + calculus.value(bias));
    for (RelativeError* bound : {&out.error, &out.truncation}) {
      scale_error(*bound, share);
      bound->mean = 0;
    }
  }
  return out;
}

/// g = n_out sw2 g', k alike.
template <class C, class X>
X linear_backward(C& calculus, const Linear& layer, const X& gradient) {
  return scaled(gradient, typename C::Number(calculus.size(layer.fan_out, "fan_out") *
                                             calculus.variance(layer)));
}

/// What `missing` along y = xW takes of W^T g: of g along y all comes back, along x, and of the
/// rest (n_in - 1)/n_in (docs/theory/finite-width.md#along).
template <class C, class X>
X without_along(const C& calculus, const Linear& layer, const X& input, double missing, X back) {
  if (missing == 0) return back;
  const Projection take{static_cast<double>(layer.fan_in), weight_noise(transposed(layer)) / 2};
  return projected(calculus, take, input, {0, missing}, back);
}

/// Of a gradient along y = xW, W^T W x brings n_out sw2 back along x.
template <class C, class X>
Gradient<X> linear_backward(C& calculus, const Linear& layer, const X& input,
                            const Gradient<X>& gradient) {
  using N = typename C::Number;
  Gradient<X> out = gradient;
  out.x = linear_backward(calculus, layer, gradient.x);
  out.directions = {};
  out.own = {};
  if constexpr (C::next_orders) {
    if (!gradient.coupling) {
      out.directions.radial =
          across(gradient.directions.radial, input_share(calculus, layer, input));
      out.x = without_along(calculus, layer, input, 1 - out.directions.radial, std::move(out.x));
    }
  }
  out.kinds = {};
  out.slope_scatter = 1;
  out.beyond_pairs = 0;
  out.aligned =
      gradient.aligned * calculus.size(layer.fan_out, "fan_out") * calculus.variance(layer);
  if (out.along_tokens) *out.along_tokens = linear_backward(calculus, layer, *out.along_tokens);
  // Normal weights bring a part of y back along x and another at random; orthogonal ones that do
  // not widen keep the size of every gradient exactly.
  const N along = calculus.real(weight_noise(transposed(layer)) / 2);
  const X known = scaled(by_squares(gradient, products_along(gradient.along_mean, input)),
                         N(out.aligned * out.aligned * along));
  if constexpr (C::next_orders)
    add_along_token(known, out);
  else
    out.x = sum(out.x, known);
  if constexpr (C::next_orders)
    out.uneven = calculus.value(out.aligned * out.aligned) * length_scatter(layer);
  if constexpr (C::next_orders) {
    if (!gradient.coupling) return out;
    SignalCoupling& coupling = *out.coupling;
    const double m = values_of(calculus, input).second;
    const double gain =
        static_cast<double>(layer.fan_out) * calculus.value(calculus.variance(layer));
    const double size = values_of(calculus, gradient.x).second;
    if (m > 0)
      coupling.aligned_square = gain * gain * coupling.aligned_square +
                                coupling.slope_excess * gain * size * coupling.size_ratio /
                                    (static_cast<double>(layer.fan_in) * m);
    coupling.slope_excess = 0;
    const double aligned = calculus.value(out.aligned), total = values_of(calculus, out.x).second;
    if (!(total > 0)) return out;
    add_aligned(coupling, m * coupling.aligned_square / total, out.spread);
    const double share = std::min(1.0, aligned * aligned * m / total);
    coupling.sensitivity =
        share + (1 - share) * input_share(calculus, layer, input) * coupling.sensitivity;
  }
  return out;
}

/// What the weights are multiplied by before they are used; their gradient is too.
template <class C>
typename C::Number weight_scale(const C& calculus, const Linear& layer) {
  using N = typename C::Number;
  if (layer.weight_norm == WeightNorm::none)
    return calculus.real(layer.multiplier * layer.multiplier);
  return layer.std > 0 ? N(calculus.variance(layer) / calculus.real(layer.std * layer.std)) : N(0);
}

/// E (dL/dW)^2 of one entry: the sum over tokens of x g, times what W is multiplied by.
template <class C, class X>
typename C::Number weight_gradient(C& calculus, const Linear& layer, const X& input,
                                   const X& gradient, const typename C::Number& tokens,
                                   const typename C::Number& batch) {
  return weight_scale(calculus, layer) * token_sum(input, gradient, tokens, batch);
}

}  // namespace scalecalc::moments
