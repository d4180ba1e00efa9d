#pragma once

#include <cmath>
#include <utility>

#include "moments/activation_moments.hpp"
#include "moments/equal_words.hpp"
#include "moments/gated_mean.hpp"
#include "moments/gated_sizes.hpp"
#include "moments/gated_words.hpp"
#include "moments/token_distance.hpp"
#include "moments/weight_matrix.hpp"
#include "moments/words.hpp"

/// y = phi(u) w with u, w linear maps of one x (docs/theory/layers.md#gated): m' = E phi^2 m_w, r'
/// = K(c) r_w + V_R dK/dr_u, the last because both see the same realised overlap of x.
namespace scalecalc::moments {

template <class X>
struct GatedRecord {
  X kernel;  ///< E phi^2 and E phi(u)phi(v)
  X slopes;  ///< E phi'^2, E phi'(u)phi'(v), each times the moments of w
  NormVariance spread;
  double exponent = 1;  ///< d ln E y^2/d ln E x^2
  /// Relative fourth moments of what gradients at w and at u are multiplied by: phi, and phi' w.
  double in_kurtosis = 3, gate_kurtosis = 3;
  /// Of a gradient y: what it makes at w and at u beyond the products of means, and how far along
  /// w and u.
  X own_in, own_gate;
  double along_in = 0, along_gate = 0;
  double noise = 2;    ///< of the weights, as of weight_noise
  double sizes = 1;    ///< E S^e/(E S)^e of the sizes S that a gradient y follows at u and w
  GatedTokens tokens;  ///< what a gradient along the mean of tokens meets
};

/// E phi^2(u)phi^2(v) of two inputs of a correlation.
inline double squares_of_pair(const WidthMoments& phi, double correlation) {
  return phi.second * phi.second * (1 + phi.covariance(correlation));
}

/// A gradient y = phi(u) w becomes phi^2 w at w and phi phi' w^2 at u: E phi^4 in place of the
/// square of E phi^2, and 3 E phi^2 phi'^2 in place of the product.
template <class C, class X>
void note_own_gradient(const C& calculus, const WidthMoments& moments, const X& u, const X& w,
                       GatedRecord<X>& record) {
  using T = Token<double>;
  const auto cosine = [](const T& t, const T& v, double cross) {
    const double size = std::sqrt(t.second * v.second);
    return size > 0 ? std::clamp(cross / size, -1.0, 1.0) : 0;
  };
  const auto squares = [&](double c) { return squares_of_pair(moments, c); };
  const X at_in = map(
      u,
      [&](const T&) {
        return T{0, squares(1)};
      },
      [&](const T& t, const T& v, double cross) { return squares(cosine(t, v, cross)); });
  const X at_gate = map(
      u,
      [&](const T&) {
        return T{0, moments.own_pair(1)};
      },
      [&](const T& t, const T& v, double cross) { return moments.own_pair(cosine(t, v, cross)); });
  const X w_squares = map(
      w,
      [](const T& t) {
        return T{0, 3 * t.second * t.second};
      },
      [](const T& t, const T& v, double cross) { return t.second * v.second + 2 * cross * cross; });
  const X y = product(record.kernel, w);
  const auto beyond = [](const X& whole, const X& apart) {
    return without_mean(sum(whole, scaled(apart, -1)));
  };
  record.own_in = beyond(scaled(product(at_in, w), record.sizes), product(y, record.kernel));
  record.own_gate =
      beyond(scaled(product(at_gate, w_squares), record.sizes), product(y, record.slopes));
  const Alike<double> q = values_of(calculus, u);
  record.along_in = moments.second;
  if (q.second > 0)
    record.along_gate =
        moments.exponent * moments.second * values_of(calculus, w).second / q.second;
}

/// E V^2/(E V)^2 over features of the variance V = q phi'^2 w^2/m_w + phi^2 that y = phi(u) w has
/// between tokens that are all but one; of others as of an activation
/// (docs/theory/attention.md#overlap).
inline double spread_of_products(const WidthMoments& phi, const Alike<double>& u) {
  const double q = u.second - u.mean * u.mean, f = phi.second, h = phi.slope, both = q * h + f;
  if (!(both > 0)) return 1;
  const double alike =
      (3 * q * q * phi.slope_kurtosis * h * h + 2 * q * phi.own_pair(1) + phi.kurtosis * f * f) /
      (both * both);
  return spread_of_own(alike, u);
}

template <class C, class X>
Signal<X> gated_forward(C& calculus, const typename C::Function& phi, const Signal<X>& gate,
                        const Signal<X>& in, const Counts& counts, GatedRecord<X>& record) {
  using N = typename C::Number;
  using T = Token<N>;
  using std::sqrt;
  const bool words = has_words(gate);
  const auto seen = [&](const Signal<X>& x) { return words ? of_words(x.x, x.repeats) : x.x; };
  const auto whole = [&](const X& x) { return words ? with_words(x, gate.repeats) : x; };
  const X u = seen(gate), w_x = seen(in);
  const Overlap<N> gates = words ? of_words(gate).overlap : gate.overlap;
  const X slopes = gate_slopes(calculus, phi, u, gates.variance()),
          kernels = expectations(calculus, phi, u);
  record.kernel = whole(kernels);
  record.slopes = whole(product(slopes, w_x));
  Signal<X> out = gate;
  out.fresh = 0;
  out.normalised = false;
  out.x = zip(
      kernels, w_x,
      [](const T& k, const T& w) {
        return T{N(0), k.second * w.second};
      },
      [](const T&, const T&, const N& k, const N& w) { return N(k * w); });
  const auto slope = average(slopes), kernel = average(kernels), w = average(w_x);
  const Overlap<N> ins = words ? of_words(in).overlap : in.overlap;
  const N apart = kernel.second * w.second - kernel.cross * w.cross;
  out.overlap = {gates.coherent * slope.cross * w.cross + ins.coherent * kernel.cross,
                 apart * apart / calculus.size(gate.width, "width")};
  if constexpr (C::next_orders) {
    const double before = calculus.value(gates.coherent);
    const double slope_of_both = before > 0 ? calculus.value(out.overlap.coherent) / before : 0;
    out.mask_overlap *= slope_of_both * slope_of_both;
    const N realised = sqrt(gates.variance() * ins.variance());
    out.x = whole(with_bounded_cross(sum_cross(out.x, scaled(slopes, realised))));
    if (words) add_word_overlap(out);
    const Alike<double> g = values_of(calculus, gate.x);
    out.flat = {phi->activation().name(), g, true};
    const WidthMoments& moments = calculus.width(phi, g.mean, g.second - g.mean * g.mean);
    out.overlap.noise *= N(spread_of_products(moments, g));
    record.spread = gate.spread;
    out.kurtosis = 3 * moments.kurtosis;
    record.exponent = 1 + moments.exponent;
    out.by_condition *= record.exponent;
    record.in_kurtosis = moments.kurtosis;
    record.gate_kurtosis = 3 * moments.slope_kurtosis;
    record.sizes = sizes_of_own(gate.spread, record.noise, static_cast<double>(gate.width),
                                2 * record.exponent - 1);
    note_own_gradient(calculus, moments, gate.x, in.x, record);
    record.tokens = gated_tokens(moments, g, values_of(calculus, in.x),
                                 values_of(calculus, record.kernel), values_of(calculus, slopes));
    const double rise =
        calculus.value(slope.cross) * calculus.value(w.cross) * (g.second - g.cross) +
        calculus.value(kernel.cross) * calculus.value(w.second - w.cross);
    out.spread =
        through_gate(gate.spread, moments, g, record.noise, static_cast<double>(gate.width), counts,
                     distance_slope(rise, 1, calculus.value(apart)));
    for (RelativeError* bound : {&out.error, &out.truncation})
      *bound = error_through_gate(*bound, g, values_of(calculus, in.x), kernel, slope, moments);
    gate_sizes(calculus, phi, moments, gate, out);
    calculus.assume("gated unit", "the two factors are independent given the input");
    calculus.omit(0, calculus.value(gates.variance()) / (2 * g.second * g.second));
  }
  return out;
}

template <class X>
struct GatedGradient {
  X gate, in;
};
template <class X>
GatedGradient<X> gated_backward(const GatedRecord<X>& record, const X& gradient) {
  return {product(gradient, record.slopes), product(gradient, record.kernel)};
}

/// What the way back asks of the overlaps of y = phi(u) w.
struct GatedOverlaps {
  SlopeKernel slope;    ///< E phi'(u)phi'(v)
  SlopeKernel own;      ///< E phi phi'(u) phi phi'(v)
  SlopeKernel squares;  ///< E phi^2(u)phi^2(v)
  OverlapDeviation output;
  Alike<double> product;  ///< of y
};
/// `u`: of the gate, of the overlap `of_gate`.
template <class C>
void note_kernels(C& calculus, const typename C::Function& phi, const Alike<double>& u,
                  const OverlapDeviation& of_gate, const Counts& counts, GatedOverlaps& overlaps) {
  const double square = u.mean * u.mean, q = u.second - square;
  if (!(q > 0)) return;
  const WidthMoments& moments = calculus.width(phi, u.mean, q);
  overlaps.slope = slope_kernel(calculus, phi, u, of_gate, counts);
  overlaps.own = own_kernel(moments, u, of_gate, counts);
  overlaps.squares = kernel_of(
      [&](double cross) {
        return squares_of_pair(moments, std::clamp((cross - square) / q, -1.0, 1.0));
      },
      u, of_gate, counts);
}

template <class C, class X>
struct Kept<Gated, C, X> {
  Places at, gate, in;
  GatedRecord<X> record;
  WeightInput<X> input;
  GatedOverlaps overlaps{};
  double same_words = 0;  ///< chance that two samples of a sequence are one word
  double error = 0;       ///< of the slopes, absolute
};

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Gated& layer, Signal<X> x) {
  C& calculus = pass.calculus();
  calculus.enter(layer.path);
  Kept<Gated, C, X> kept;
  const Counts over = pass.counts(x);
  settle(x);
  if constexpr (C::next_orders) {
    kept.input.overlap = overlap_deviation(calculus, x);
    if (has_words(x)) kept.same_words = x.repeats;
  }
  Signal<X> gate = linear_forward(calculus, layer.gate, x, over);
  kept.gate = {pass.site(layer.gate.path, "linear", gate), note_weights(pass, layer.gate),
               x.tokens};
  Signal<X> in = linear_forward(calculus, layer.in, x, over);
  kept.in = {pass.site(layer.in.path, "linear", in), note_weights(pass, layer.in), x.tokens};
  const auto phi = calculus.function(layer.function);
  if constexpr (C::next_orders) {
    if (pass.backward())
      note_kernels(calculus, phi, values_of(calculus, gate.x), overlap_deviation(calculus, gate),
                   over, kept.overlaps);
  }
  kept.record.noise = weight_noise(layer.gate);
  Signal<X> y = gated_forward(calculus, phi, gate, in, over, kept.record);
  if constexpr (C::next_orders) {
    kept.overlaps.output = overlap_deviation(calculus, y);
    kept.overlaps.product = values_of(calculus, y.x);
  }
  kept.error = calculus.take_slope_error();
  kept.at = {pass.site(layer.path, "gated", y), 0, x.tokens};
  kept.input.spread = x.spread;
  kept.input.truncation = with_mask_sizes(x);
  kept.input.tokens = x.tokens;
  kept.input.x = std::move(x.x);
  pass.template keep<Gated>(std::move(kept));
  return y;
}

/// r' = K(r_u) r_w of linear maps u and w of one x: k_u = k' D r_w and k_w = k' K; of a part a y
/// along the output k_u = a^2 M (m_w^2 + 2 r_w^2) and k_w = a^2 S r_w, of M = E phi phi'(u) phi
/// phi'(v) and S = E phi^2(u)phi^2(v). The slopes are in x's overlap, for both.
template <class C, class X>
void gated_slopes(const C& calculus, const Gated& layer, const Kept<Gated, C, X>& kept,
                  const Gradient<X>& g, Gradient<X>& gate, Gradient<X>& in) {
  const GatedOverlaps& of = kept.overlaps;
  const Alike<double> k = values_of(calculus, g.x),
                      kernel = values_of(calculus, kept.record.kernel),
                      x = values_of(calculus, kept.input.x);
  const OverlapDeviation& overlap = kept.input.overlap;
  const double of_gate = gain_of(calculus, layer.gate), of_in = gain_of(calculus, layer.in);
  const double aligned = g.along_mean ? 0 : calculus.value(g.aligned), along = aligned * aligned;
  const double w_square = of_in * x.second * of_in * x.second;
  const OverlapSlopes rest = with_part_along(g.slopes, -along, of.output);
  // A pair's slopes, and what the covariance of its two overlaps adds to its gradient.
  struct Pair {
    OverlapSlope slope;
    double more = 0, rise = 0;
  };
  struct Kernels {
    const SlopeKernel::Pair &slope, &own, &squares;
    double phi, product;
  };
  const auto pair = [&](const OverlapSlope& s, const Kernels& at, double k_out, double r,
                        double apart, bool is_gate) {
    const double slope = at.slope.value * r, forward = of_gate * slope + of_in * at.phi;
    const double factor = is_gate ? slope : at.phi;
    const double rise =
        is_gate ? at.slope.rise * of_gate * r + at.slope.value * of_in : at.slope.value * of_gate;
    const double own_rise =
        is_gate ? at.own.rise * of_gate * (w_square + 2 * r * r) + at.own.value * 4 * r * of_in
                : at.squares.rise * of_gate * r + at.squares.value * of_in;
    const double both = (k_out - along * at.product) * rise + along * own_rise;
    const double coherent = overlap.coherent * apart;
    const double covariance = s.own * forward * overlap.noise * apart * apart + s.stream * coherent;
    return Pair{{(s.own * forward * factor + both) / (is_gate ? of_gate : of_in),
                 s.stream * factor + both * coherent},
                covariance * rise,
                rise};
  };
  const Kernels inside{of.slope.within, of.own.within, of.squares.within, kernel.cross,
                       of.product.cross},
      across{of.slope.between, of.own.between, of.squares.between, kernel.between,
             of.product.between};
  for (Gradient<X>* part : {&gate, &in}) {
    const bool is_gate = part == &gate;
    const Pair within = pair(rest.within, inside, k.cross, of_in * x.cross, 1, is_gate);
    const Pair between =
        pair(rest.between, across, k.between, of_in * x.between, overlap.apart, is_gate);
    part->slopes = {within.slope, between.slope};
    part->x = with_bounded_cross(
        sum_cross(part->x, uniform(part->x, Alike<double>{0, 0, within.more, between.more})));
    if (kept.same_words > 0)
      gated_words(WordPairs{kept.same_words, g.equal_words},
                  is_gate ? kept.record.slopes : kept.record.kernel, g.x, kept.input.x, overlap,
                  within.rise, g.slopes.within.stream, *part);
  }
}

/// What a gradient along y, or along the mean of y over tokens, makes at u and w.
template <class X>
void gated_own(const Gradient<X>& g, const GatedRecord<X>& record, Gradient<X>& gate,
               Gradient<X>& in) {
  const double square = g.aligned * g.aligned;
  if (!g.along_mean) {
    add_along_token(scaled(by_squares(g, record.own_gate), square), gate);
    add_along_token(scaled(by_squares(g, record.own_in), square), in);
    gate.aligned = g.aligned * record.along_gate;
    in.aligned = g.aligned * record.along_in;
    return;
  }
  const GatedTokens& of = record.tokens;
  add_of_mean(gate_of_mean(of, g.along_mean), g.along_mean, square, gate);
  add_of_mean(in_of_mean(of, g.along_mean), g.along_mean, square, in);
  gate.aligned = in.aligned = g.aligned;
  gate.along_mean =
      mean_below(g.along_mean, record.along_gate, of.within.slopes * of.within.w, gate.aligned);
  in.along_mean = mean_below(g.along_mean, record.along_in, of.within.kernel, in.aligned);
}

/// Finite width of the gradients at u and w.
template <class C, class X>
void gated_orders(const BackwardPass<C, X>& pass, const Gated& layer, const Kept<Gated, C, X>& kept,
                  const Gradient<X>& g, Gradient<X>& gate, Gradient<X>& in) {
  const C& calculus = pass.calculus();
  const Alike<double> from = values_of(calculus, g.x), x = values_of(calculus, kept.input.x);
  const double y = kept.overlaps.product.second, aligned = calculus.value(g.aligned),
               own = from.second > 0 ? std::min(1.0, aligned * aligned * y / from.second) : 0;
  const GatePowers powers = gate_powers(g, kept.record.exponent, y);
  for (Gradient<X>* part : {&gate, &in}) {
    part->size_exponent = own * powers.along + (1 - own) * powers.rest;
    add_gate_error(*part, kept.input.spread, kept.record.exponent, layer.in.fan_in);
  }
  const auto width = static_cast<double>(layer.in.fan_out);
  // phi^2, and phi'^2 w^2, go as S^(e - 1) of what sizes of the input have in common.
  const double power = kept.record.exponent - 1,
               follows = power * power * kept.input.spread.batch_variance;
  const auto through = [&](LogCovariance& logs, const X& factors, double kurtosis) {
    logs.propagator.setIdentity();
    covariance_through_slopes(logs, {values_of(calculus, factors), x, kurtosis, follows, width},
                              from, pass.counts(kept.at.tokens));
  };
  through(gate.log_covariance, kept.record.slopes, kept.record.gate_kurtosis);
  through(in.log_covariance, kept.record.kernel, kept.record.in_kurtosis);
}

/// What |x_t|^2|g_t|^2 of the gate's weights, or of those of w, has beside the product of means
/// where sizes of tokens vary is not made, and stated (docs/theory/layers.md#gated-sizes).
template <class C, class X>
void state_gate_sizes(BackwardPass<C, X>& pass, const Kept<Gated, C, X>& kept, const Gradient<X>& g,
                      const Gradient<X>& part, bool is_gate) {
  const NormVariance& sizes = kept.input.spread;
  if (!(sizes.token_variance > 0) || sizes.log_range > 0) return;
  const C& calculus = pass.calculus();
  const GatedRecord<X>& record = kept.record;
  const double y = kept.overlaps.product.second;
  const Alike<double> below = values_of(calculus, part.x), x = values_of(calculus, kept.input.x);
  const double aligned = g.along_mean ? 0 : calculus.value(g.aligned);
  const double own = values_of(calculus, is_gate ? record.own_gate : record.own_in).second,
               factor = values_of(calculus, is_gate ? record.slopes : record.kernel).second;
  const double along =
      below.second > 0 ? std::clamp(aligned * aligned * (own + y * factor) / below.second, 0.0, 1.0)
                       : 0;
  const GatePowers powers = gate_powers(g, record.exponent, y);
  const Counts counts = pass.counts(kept.input.tokens);
  const double one = std::fabs(x.second * below.second),
               pairs = (counts.tokens - 1) * std::fabs(x.cross * below.cross) +
                       (counts.batch - 1) * counts.tokens * std::fabs(x.between * below.between);
  if (!(one + pairs > 0)) return;
  const double share = one / (one + pairs),
               both = std::max(0.0, sizes.token_variance - sizes.decorrelation);
  pass.parameter(is_gate ? kept.gate.parameter : kept.in.parameter).truncation +=
      share * beside_sizes(powers, along, sizes.token_variance) +
      (1 - share) * beside_sizes(powers, along, both);
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Gated& layer, Gradient<X> g) {
  using N = typename C::Number;
  C& calculus = pass.calculus();
  const auto& kept = pass.template take<Gated>();
  pass.note_below_norm(kept.at.site, g);
  auto parts = gated_backward(kept.record, g.x);
  Gradient<X> gate = g, in = g;
  gate.aligned = in.aligned = N(0);
  gate.follows_size = in.follows_size = gate.size_power = in.size_power = 0;
  gate.directions = in.directions = {};
  gate.x = std::move(parts.gate);
  in.x = std::move(parts.in);
  if constexpr (C::next_orders) {
    gated_own(g, kept.record, gate, in);
    const auto along = [&](const X& factor, Gradient<X>& part) {
      if (!part.along_tokens) return;
      *part.along_tokens = product(*part.along_tokens, factor);
      rescale_own(part, values_of(calculus, *part.along_tokens).second,
                  calculus.value(part.aligned));
    };
    along(kept.record.slopes, gate);
    along(kept.record.kernel, in);
  }
  if constexpr (C::next_orders) gated_slopes(calculus, layer, kept, g, gate, in);
  add_slope_error(calculus, gate, g, kept.error);
  if constexpr (C::next_orders) gated_orders(pass, layer, kept, g, gate, in);
  pass.note(kept.gate.site, gate);
  pass.note(kept.in.site, in);
  fill_weights(pass, layer.gate, kept.gate.parameter, kept.input, gate);
  fill_weights(pass, layer.in, kept.in.parameter, kept.input, in);
  if constexpr (C::next_orders) {
    state_gate_sizes(pass, kept, g, gate, true);
    state_gate_sizes(pass, kept, g, in, false);
  }
  Gradient<X> out = through_weights(pass, layer.in, kept.input, in);
  const Gradient<X> other = through_weights(pass, layer.gate, kept.input, gate);
  if constexpr (C::next_orders)
    out.log_covariance =
        covariance_of_sum(g.log_covariance, out.log_covariance, other.log_covariance,
                          values_of(calculus, out.x), values_of(calculus, other.x),
                          static_cast<double>(layer.in.fan_in), pass.counts(kept.at.tokens));
  if constexpr (C::next_orders)
    out.equal_words = equal_of_both(out.equal_words, values_of(calculus, out.x).second,
                                    other.equal_words, values_of(calculus, other.x).second);
  out.x = sum(out.x, other.x);
  if constexpr (C::next_orders)
    add_along_token(
        scaled(by_squares(out, products_along(out.along_mean, other.along_mean, kept.input.x)),
               2 * out.aligned * other.aligned),
        out);
  out.along_mean = sum_along(out.along_mean, calculus.value(out.aligned), other.along_mean,
                             calculus.value(other.aligned));
  out.aligned = out.aligned + other.aligned;
  if constexpr (C::next_orders) sum_along_tokens(out, other);
  out.size_exponent = std::max(out.size_exponent, other.size_exponent);
  out.uneven += other.uneven;
  out.beyond_pairs += other.beyond_pairs;
  out.slopes = out.slopes + other.slopes;
  return out;
}

}  // namespace scalecalc::moments
