#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "moments/image_profile.hpp"
#include "moments/layers/linear.hpp"
#include "moments/overlap_lags.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/positions.hpp"
#include "moments/weight_matrix.hpp"
#include "moments/weightless.hpp"

/// Conv2d: the positions of an image, or of one row, are its tokens (docs/theory/layers.md#conv2d).
/// Taps have weights of their own, so products of different taps vanish; tap j is inside the image
/// at n_j of P outputs.
namespace scalecalc::moments {

/// Sums over taps that all rules are made of.
struct Taps {
  double count = 0;                ///< kernel^2, of one row kernel
  double inputs = 0, outputs = 0;  ///< positions
  double once = 0;                 ///< sum n_j
  double pairs = 0;                ///< sum n_j (n_j - 1)
  double squares = 0;              ///< sum n_j^2
  double uneven = 0;               ///< relative variance of the taps an output has
};
Taps count_taps(const Conv2d& layer);
/// With each pair of an input and an output by what it has of x and of g, for averages of states
/// with these profiles; `uneven` is of the taps alone.
Taps count_taps(const Conv2d& layer, const Profile& x, const Profile& g);
/// Whether the image is small enough for profiles.
bool keeps_positions(const Conv2d& layer);
/// What each output has of its taps' inputs, and each input of the outputs that see it, added up.
Eigen::ArrayXd added_taps(const Conv2d& layer, const Eigen::ArrayXd& inputs);
Eigen::ArrayXd added_back(const Conv2d& layer, const Eigen::ArrayXd& outputs);
/// Of x_i x_j = v_i v_j, the sums over taps of the pairs that each output, or each input on the way
/// back, makes with all.
Eigen::ArrayXd pairs_through(const Conv2d& layer, const Eigen::ArrayXd& rows);
Eigen::ArrayXd pairs_back(const Conv2d& layer, const Eigen::ArrayXd& rows);

/// Relative variance, over groups, of the size of what a group's outputs read: in_channels/groups
/// features of as many tokens as it has taps, of fourth moment `kurtosis`; sizes of tokens go
/// together as c^2.
inline double group_variance(const Conv2d& layer, double kurtosis, const Alike<double>& x) {
  const auto groups = static_cast<double>(layer.groups);
  const double features = static_cast<double>(layer.in_channels) / groups,
               taps =
                   static_cast<double>(layer.one_row ? layer.kernel : layer.kernel * layer.kernel);
  const double c = x.second > 0 ? x.cross / x.second : 1;
  const double together = (1 + (taps - 1) * c * c) / taps;
  return std::max(0.0, kurtosis - 1) / features * together * (1 - 1 / groups);
}

/// What a window makes of overlaps along all its sides.
struct ConvLags {
  double kept = 1, uneven = 1;  ///< as in TransposedLags
  OverlapLags lags;
};
inline ConvLags lags_through(const Conv2d& layer, const OverlapLags& in) {
  const auto kernel = static_cast<std::size_t>(layer.kernel),
             stride = static_cast<std::size_t>(layer.stride);
  if (layer.transposed) {
    TransposedLags made = through_transposed(in, kernel, stride);
    return {made.kept * made.kept, made.uneven * made.uneven, std::move(made.lags)};
  }
  WindowedLags made = through_window(in, kernel, stride);
  return {layer.one_row ? made.kept : made.kept * made.kept, 1, std::move(made.lags)};
}

/// Means over outputs (m, tap by tap), over pairs of them, and over positions of two images.
/// `window_share`: of the variance of overlaps, what a window's average keeps.
template <class C, class X>
Signal<X> conv_forward(C& calculus, const Conv2d& layer, const Signal<X>& in, const Counts& counts,
                       double* window_share = nullptr) {
  using N = typename C::Number;
  const Taps taps = count_taps(layer, in.profile, nullptr);
  const double outputs = taps.outputs, pairs = outputs * (outputs - 1);
  const N gain = calculus.size(layer.weight.fan_in, "fan_in") * calculus.variance(layer.weight);
  const N bias = calculus.bias_variance(layer.weight);
  const auto share = [&](double sum, double of) {
    return N(gain * calculus.real(of > 0 ? sum / (taps.count * of) : 1));
  };
  const auto x = average(in.x);
  Signal<X> out = in;
  out.normalised = out.sinusoids = false;
  out.kurtosis = 3;
  out.size_excess = out.sphere_excess = out.map_overlap = out.weight_cumulant = out.mean_pairs = 0;
  out.head_overlap = {};
  out.mixture = {};
  out.flat.reset();
  out.none = 0;
  out.same_words = false;
  out.width = layer.out_channels;
  out.tokens = layer.out_height() * layer.out_width();
  // Images keep the positions that they began with, which are averaged over.
  const bool is_shorter = layer.one_row && out.tokens != in.tokens;
  out.x = uniform(is_shorter ? among(in.x, out.tokens) : in.x,
                  Alike<N>{N(0), share(taps.once, outputs) * x.second + bias,
                           share(taps.pairs, pairs) * x.cross + bias,
                           share(taps.squares, outputs * outputs) * x.between + bias});
  // Two positions overlap through the taps that both have inside the image.
  out.overlap = overlap_through_linear(in.overlap, share(taps.pairs, pairs));
  if constexpr (C::next_orders) {
    // Each tap has a pair of positions of its own, whose overlaps fluctuate by themselves.
    ConvLags window = lags_through(layer, in.overlap_lags ? *in.overlap_lags : OverlapLags{});
    const double kept = window.kept;
    out.overlap = {out.overlap.coherent * std::sqrt(kept), out.overlap.noise * kept};
    if (window.uneven > 1) {
      const double mean = calculus.value(N(share(taps.pairs, pairs) * x.cross));
      out.overlap.coherent = std::hypot(out.overlap.coherent, mean * std::sqrt(window.uneven - 1));
    }
    out.overlap_lags = std::move(window.lags);
    if (window_share) *window_share = kept;
    // Outputs of a group share its channels alone, whose overlaps add groups/channels - 1/channels.
    const Alike<double> input = values_of(calculus, in.x);
    const double apart = input.second - input.cross;
    const double channels = static_cast<double>(layer.in_channels),
                 more = static_cast<double>(layer.groups - 1) / channels;
    const double whole = calculus.value(in.overlap.variance());
    out.map_overlap =
        apart > 0
            ? std::min(1.0,
                       kept / window.uneven *
                           (std::max(0.0, whole - overlap_of_tokens(in)) / (apart * apart) + more))
            : 0;
    if (layer.groups > 1)
      out.kurtosis = 3 * (1 + group_variance(layer, in.kurtosis, values_of(calculus, in.x)));
    const Counts after{outputs, counts.batch};
    const double second = values_of(calculus, out.x).second;
    out.fresh = fresh_overlap(values_of(calculus, out.x), weight_noise(layer.weight),
                              static_cast<double>(layer.out_channels));
    const double part = second > 0 ? (second - calculus.value(bias)) / second : 0;
    // So are sizes of tokens, beside what all have in common.
    NormVariance of_window = in.spread;
    const double one = in.spread.token_variance,
                 common =
                     std::clamp(between_tokens(one, in.spread.batch_variance, counts), 0.0, one);
    of_window.token_variance = common + (one - common) * kept / window.uneven;
    out.spread =
        through_linear(of_window, part, weight_noise(layer.weight), values_of(calculus, out.x),
                       static_cast<double>(layer.out_channels), after);
    out.profile.reset();
    if (has_profiles<C, X> && keeps_positions(layer)) {
      const std::int64_t inputs = layer.height * layer.width;
      const double of_tap = calculus.value(gain) / taps.count, of_bias = calculus.value(bias);
      const Alike<double> level = levelled(values_of(calculus, in.x), in.profile);
      const double pair = level.cross != 0 ? level.cross : level.between;
      out.profile = make_profile(
          added_taps(layer, sizes_of(in.profile, inputs)) * (of_tap * level.second) + of_bias,
          pairs_through(layer, rows_of(in.profile, inputs)) * (of_tap * pair / outputs) + of_bias);
    } else {
      const double borders = std::sqrt(in.spread.position_variance * taps.uneven);
      out.spread.position_variance = in.spread.position_variance + taps.uneven;
      calculus.omit(borders, borders);
      calculus.assume("conv2d", "positions at the border are as those inside", "relative variance",
                      out.spread.position_variance, 0.1);
    }
    calculus.assume("conv2d", "two positions of an image have one correlation, near or far");
  }
  return out;
}

/// At the tokens of the input: each is seen by sum n_j/P_in taps, of C_out/groups channels each.
/// Mean and mean square over inputs of the taps that see one: those inside the image, of a stride
/// that skips as many on either side.
struct Seen {
  double mean = 0, square = 0;
};
inline Seen taps_seen(const Conv2d& layer) {
  const Taps taps = count_taps(layer);
  const double mean = taps.once / taps.inputs;
  // Outputs of a transposed one are skipped by none of its inputs.
  if (layer.transposed) return {mean, mean * mean};
  const double line = static_cast<double>(layer.kernel) / static_cast<double>(layer.stride),
               part = line - std::floor(line), uneven = part * (1 - part) / (line * line);
  const double square = layer.one_row ? 1 + uneven : (1 + uneven) * (1 + uneven);
  return {mean, mean * mean * square};
}

template <class C, class X>
X conv_backward(C& calculus, const Conv2d& layer, const X& input, const X& gradient,
                const Profile& profile = nullptr) {
  using N = typename C::Number;
  const Taps taps = count_taps(layer, nullptr, profile);
  const N channel = calculus.size(layer.out_channels / layer.groups, "out_channels") *
                    calculus.variance(layer.weight);
  const auto g = average(gradient);
  const auto share = [&](double sum, double of) {
    return N(channel * calculus.real(of > 0 ? sum / of : 0));
  };
  return uniform(input, Alike<N>{N(0), share(taps.once, taps.inputs) * g.second,
                                 share(taps.pairs, taps.inputs * (taps.inputs - 1)) * g.cross,
                                 share(taps.squares, taps.inputs * taps.inputs) * g.between});
}

/// Mean over taps of B [n m g + n (n-1) r k] + B (B-1) n^2 r_b k_b.
template <class C, class X>
typename C::Number conv_weight_gradient(C& calculus, const Conv2d& layer, const X& input,
                                        const X& gradient, const typename C::Number& batch,
                                        const Profile& of_input = nullptr,
                                        const Profile& of_gradient = nullptr) {
  using N = typename C::Number;
  const Taps taps = count_taps(layer, of_input, of_gradient);
  const auto x = average(input), g = average(gradient);
  const auto mean = [&](double sum) { return N(calculus.real(sum / taps.count)); };
  return weight_scale(calculus, layer.weight) *
         (batch * (mean(taps.once) * x.second * g.second + mean(taps.pairs) * x.cross * g.cross) +
          batch * (batch - 1) * mean(taps.squares) * x.between * g.between);
}

template <class C, class X>
struct Kept<Conv2d, C, X> {
  Places at;
  X input;
  NormVariance spread;
  RelativeError truncation;  ///< of the input
  OverlapDeviation overlap;  ///< of the input
  double window = 1;         ///< of its variance, what a window's average keeps
  Profile profile;           ///< of the input
};

/// What overlaps of the input and of the gradient that follows them add to conv_weight_gradient():
/// that at an output follows the average over the window, of which one tap has `window` V.
template <class C>
double conv_overlap_covariance(const C& calculus, const Conv2d& layer, const OverlapSlopes& slopes,
                               const OverlapDeviation& x, double window, double batch) {
  const Taps taps = count_taps(layer);
  const double gain = gain_of(calculus, layer.weight);
  const auto pair = [&](const OverlapSlope& s, double apart) {
    return s.own * gain * window * x.noise * apart * apart +
           s.stream * std::sqrt(window) * x.coherent * apart;
  };
  return batch * taps.pairs / taps.count * pair(slopes.within, 1) +
         batch * (batch - 1) * taps.squares / taps.count * pair(slopes.between, x.apart);
}

/// dk/dr below: a token's gradient is that of all outputs which have seen it, `seen` times the gain
/// of a tap, each of which follows the token's overlap as far as its window does.
inline OverlapSlopes through_window(const OverlapSlopes& slopes, double seen, double window,
                                    double gain) {
  return slopes.each([&](const OverlapSlope& s) {
    return OverlapSlope{s.own * gain * window * seen, s.stream * std::sqrt(window) * seen};
  });
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Conv2d& layer, Signal<X> x) {
  pass.calculus().enter(layer.path);
  settle(x);
  if (has_one_tap(layer)) return through_matrix(pass, layer.weight, "conv2d", std::move(x));
  double window = 1;
  Signal<X> y = conv_forward(pass.calculus(), layer, x, pass.counts(x), &window);
  const std::size_t at = pass.site(layer.path, "conv2d", y);
  OverlapDeviation overlap;
  if constexpr (C::next_orders) overlap = overlap_deviation(pass.calculus(), x);
  pass.template keep<Conv2d>({{at, note_weights(pass, layer.weight), x.tokens},
                              std::move(x.x),
                              x.spread,
                              x.truncation,
                              overlap,
                              window,
                              std::move(x.profile)});
  return y;
}

/// The gradient of the weights, from g at the output.
template <class C, class X>
void fill_kernel(BackwardPass<C, X>& pass, const Conv2d& layer, const Kept<Conv2d, C, X>& kept,
                 const Gradient<X>& g) {
  using N = typename C::Number;
  C& calculus = pass.calculus();
  fill(
      pass, kept.at.parameter,
      conv_weight_gradient(calculus, layer, kept.input, g.x, pass.batch(), kept.profile, g.profile),
      g, kept.spread);
  const std::int64_t outputs = layer.out_height() * layer.out_width();
  fill_product_variance(pass, kept.at.parameter, g, kept.input, kept.spread, outputs);
  if constexpr (C::next_orders) {
    const Counts counts = pass.counts(outputs);
    auto& record = pass.parameter(kept.at.parameter);
    record.truncation = product_error(calculus, kept.input, kept.truncation, g, counts);
    const double scale = weight_scale(calculus, layer.weight);
    const double covariance =
        scale * conv_overlap_covariance(calculus, layer, g.slopes, kept.overlap, kept.window,
                                        calculus.value(pass.batch()));
    record.truncation += error_of_covariance(record.gradient, covariance, layer.weight.fan_in);
    record.gradient = calculus.positive(N(record.gradient + covariance));
    const Taps taps = count_taps(layer);
    fill_cancelled(record,
                   scale * counts.batch * taps.once / taps.count *
                       error_of_terms(calculus, kept.input, kept.truncation, g, counts).error);
  }
}

/// To what has come back at random of a gradient with g.profile at the outputs, the part a x of
/// each input for every tap that has seen it.
inline void add_along(const Conv2d& layer, const Alike<double>& input, const Profile& profile,
                      double along, Gradient<Alike<double>>& g) {
  const std::int64_t outputs = layer.out_height() * layer.out_width();
  Eigen::ArrayXd back = added_back(layer, sizes_of(g.profile, outputs));
  Eigen::ArrayXd rows = pairs_back(layer, rows_of(g.profile, outputs));
  const double mean = back.mean(), of_pairs = rows.mean();
  if (mean > 0) back *= g.x.second / mean;
  if (of_pairs > 0) rows *= (g.x.cross != 0 ? g.x.cross : g.x.between) / of_pairs;
  if (along != 0) {
    const Eigen::ArrayXd seen = added_back(layer, Eigen::ArrayXd::Ones(outputs)) * along;
    const Eigen::ArrayXd sizes = seen.square() * sizes_of(profile, seen.size()),
                         seen_rows = seen * rows_of(profile, seen.size());
    Gradient<Alike<double>> part;
    part.x = without_mean(levelled(input, profile));
    // The mean of v_i/p_i^(1/2) is 1 of both.
    give_sizes(part, sizes, seen_rows);
    g.x = sum(g.x, part.x);
    back += sizes * input.second;
    rows += pairs_of(part.x, part.profile, seen.size());
  }
  g.profile = make_profile(back, rows);
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Conv2d& layer, Gradient<X> g) {
  using N = typename C::Number;
  if (has_one_tap(layer)) return backward_step(pass, layer.weight, std::move(g));
  C& calculus = pass.calculus();
  const auto& kept = pass.template take<Conv2d>();
  pass.note(kept.at.site, g);
  fill_kernel(pass, layer, kept, g);
  if (layer.weight.bias)
    fill_bias(pass, kept.at.parameter + 1, g, layer.out_height() * layer.out_width());
  g.x = conv_backward(calculus, layer, kept.input, g.x, g.profile);
  g.directions = {};
  g.kinds = {};
  g.uneven = g.beyond_pairs = 0;
  // Of a y the same weights bring back a x, once for each tap and channel that has seen it.
  const Seen seen = taps_seen(layer);
  const N channel = calculus.size(layer.out_channels / layer.groups, "out_channels") *
                    calculus.variance(layer.weight);
  const N along = g.along_mean ? N(0) : N(g.aligned * channel);
  if constexpr (has_profiles<C, X>) {
    if (keeps_positions(layer)) {
      add_along(layer, kept.input, kept.profile, along, g);
    } else {
      g.x = sum(g.x, scaled(without_mean(kept.input), along * along * seen.square));
      g.profile.reset();
    }
  } else {
    g.x = sum(g.x, scaled(without_mean(kept.input), N(along * along * calculus.real(seen.square))));
  }
  g.aligned = along * calculus.real(seen.mean);
  if constexpr (C::next_orders)
    g.slopes =
        with_part_along(through_window(g.slopes, calculus.value(channel) * seen.mean, kept.window,
                                       gain_of(calculus, layer.weight)),
                        calculus.value(along) * calculus.value(along) * seen.square, kept.overlap);
  g.along_mean = {};
  return g;
}

}  // namespace scalecalc::moments
