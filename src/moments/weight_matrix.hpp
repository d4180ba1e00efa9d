#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "moments/along_tokens.hpp"
#include "moments/forward_pass.hpp"
#include "moments/gradient_error.hpp"
#include "moments/image_profile.hpp"
#include "moments/linear_map.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/parameter_gradients.hpp"

/// What every layer with a weight matrix does on its way: notes the matrix down, fills in its
/// gradient, and sends the gradient through its transpose.
namespace scalecalc::moments {

/// The input of a weight matrix, as its gradient asks for it.
template <class X>
struct WeightInput {
  X x;
  NormVariance spread;
  RelativeError truncation;
  OverlapDeviation overlap{};
  std::int64_t tokens = 0;
  Profile profile{};
};

/// Notes the matrix, unless it is tied, and, behind it, its bias. Returns the index of the first.
template <class C, class X>
std::size_t note_weights(ForwardPass<C, X>& pass, const Linear& layer) {
  std::optional<std::size_t> matrix, bias;
  if (!layer.tied)
    matrix =
        pass.parameter(layer.path, ".weight", layer.fan_in, layer.fan_out, layer.std * layer.std);
  if (layer.bias)
    bias = pass.parameter(layer.path, ".bias", 1, layer.fan_out, layer.bias_std * layer.bias_std);
  return matrix ? *matrix : bias.value_or(0);
}

/// Behind dropout tokens' sizes vary by their masks, and the gradients of weights with them.
template <class X>
RelativeError with_mask_sizes(const Signal<X>& x) {
  RelativeError bound = x.truncation;
  bound.second += x.kurtosis * (1 - 1 / x.mixture.square()) / static_cast<double>(x.width);
  return bound;
}

template <class C>
double gain_of(const C& calculus, const Linear& layer) {
  return static_cast<double>(layer.fan_in) * calculus.value(calculus.variance(layer));
}

/// E (x_t.x_u)(g_t.g_u) over the product of both means, where a norm above has divided g_t by the
/// size of what is made of x_t: g^2 goes as |x|^(-2 follows), and E 1/s^2 has 1 + v of a norm
/// (docs/theory/layers.md#sizes-together). Tokens of one draw that differ in size by themselves
/// make as much of a pair of them as of one.
inline double of_sizes(const NormVariance& x, double follows, const Counts& counts) {
  if (follows == 0 || x.log_range > 0) return 1;
  const double shared = between_tokens(x.token_variance, x.batch_variance, counts);
  return 1 / (1 + follows * std::max<double>(x.token_variance, shared));
}

/// E x^2 at this width over that of infinite width, of an input without a norm since it changed;
/// 1 where it is not known, past the lognormal regime.
inline double finite_over_infinite(const NormVariance& x) {
  const double ratio = 1 + x.mean_shift;
  return x.log_range > 0 || !(ratio > 0) ? 1 : ratio;
}

/// Of a gradient, what it makes of products with an input of this profile.
template <class X>
const X& with_input(const Gradient<X>& g, const Profile& /*input*/) {
  return g.x;
}
inline Alike<double> with_input(const Gradient<Alike<double>>& g, const Profile& input) {
  return g.profile && input ? product(g.x, together(input, g.profile)) : g.x;
}

/// The gradients of the matrix and its bias, from g at its output; `first`: what note_weights gave.
/// Of a tied matrix it goes to the first parameter, the table, whose own part is added to it.
template <class C, class X>
void fill_weights(BackwardPass<C, X>& pass, const Linear& layer, std::size_t first,
                  const WeightInput<X>& input, const Gradient<X>& g) {
  using N = typename C::Number;
  C& calculus = pass.calculus();
  const std::size_t parameter = layer.tied ? 0 : first, bias = layer.tied ? first : first + 1;
  fill(pass, parameter,
       weight_gradient(calculus, layer, input.x, with_input(g, input.profile),
                       pass.tokens(input.tokens), pass.batch()),
       g, input.spread);
  fill_product_variance(pass, parameter, g, input.x, input.spread, input.tokens);
  // ln |g|^2 has -follows times what ln |x|^2 varies by: so much less has their sum.
  if (C::next_orders && !g.coupling && g.follows_size > 0) {
    auto& record = pass.parameter(parameter);
    const double together = 2 * std::min(1.0, g.follows_size) * input.spread.batch_variance;
    record.spread = std::max(0.0, record.spread - together);
  }
  const Counts counts = pass.counts(input.tokens);
  if constexpr (C::next_orders) {
    auto& record = pass.parameter(parameter);
    record.truncation = product_error(calculus, input.x, input.truncation, g, counts);
    OverlapDeviation overlap = input.overlap;
    if (overlap.own > 0)
      overlap = about_mean(overlap, level_of_sum(values_of(calculus, g.x), counts.tokens));
    const double covariance =
        overlap_covariance(g.slopes, overlap, gain_of(calculus, layer), counts);
    const double scale = calculus.value(weight_scale(calculus, layer));
    record.truncation +=
        error_of_covariance(calculus.value(record.gradient), scale * covariance, layer.fan_in);
    const double sizes = of_sizes(input.spread, g.follows_size, counts) *
                         (g.coupling ? 1 : finite_over_infinite(input.spread));
    record.gradient = calculus.positive(
        (record.gradient + weight_scale(calculus, layer) * N(covariance)) * N(sizes));
    fill_cancelled(record,
                   scale * counts.samples() *
                       error_of_terms(calculus, input.x, input.truncation, g, counts).error);
  }
  if (layer.bias) {
    fill_bias(pass, bias, g, input.tokens);
    fill_sum_variance(pass, bias, g);
  }
  if constexpr (C::next_orders) {
    if (!g.coupling) return;
    const double share = input_share(calculus, layer, input.x);
    fill_variance(pass.parameter(parameter),
                  weight_variance(pass.head(), g.spread, *g.coupling, input.spread, share,
                                  values_of(calculus, input.x), counts));
    if (layer.bias)
      fill_variance(pass.parameter(bias), weight_variance(pass.head(), g.spread, *g.coupling, {}, 0,
                                                          {0, 1, 1, 1}, counts));
  }
}

/// Of a gradient with a part along y = x W, what W^T W brings back at random (linear_backward).
template <class C>
double part_along(const C& calculus, const Linear& layer, const typename C::Number& aligned) {
  const double along = calculus.value(aligned);
  return along * along * weight_noise(transposed(layer)) / 2;
}

template <class C, class X>
LogCovariance covariance_through_weights(const BackwardPass<C, X>& pass, const Linear& layer,
                                         const X& g, std::int64_t tokens, LogCovariance logs) {
  covariance_through_linear(logs, Coherent(values_of(pass.calculus(), g), pass.counts(tokens)),
                            weight_noise(transposed(layer)), static_cast<double>(layer.fan_in));
  return logs;
}

/// Of the gradient below a matrix, what is along its input.
template <class C>
double part_of_input(const C& calculus, const Linear& layer,
                     const WeightInput<Alike<double>>& input,
                     const Gradient<Alike<double>>& below) {
  return std::min(part_along(calculus, layer, below.aligned) * input.x.second, below.x.second);
}

/// W^T g: Gaussian in n_in features again.
template <class C, class X>
Gradient<X> through_weights(BackwardPass<C, X>& pass, const Linear& layer,
                            const WeightInput<X>& input, const Gradient<X>& g) {
  C& calculus = pass.calculus();
  Gradient<X> out = linear_backward(calculus, layer, input.x, g);
  out.by_slopes = false;
  out.mean_beyond = 0;
  if constexpr (has_profiles<C, X>) {
    if (g.profile || input.profile) {
      const double of_input = g.along_mean ? 0 : part_of_input(calculus, layer, input, out);
      const double along = input.x.second > 0 ? of_input / input.x.second : 0,
                   rest = g.x.second > 0 ? (out.x.second - of_input) / g.x.second : 0;
      out.profile = profile_of_sum(g.profile, scaled(g.x, rest), input.profile,
                                   scaled(input.x, along), out.x);
    }
  }
  if constexpr (C::next_orders) {
    if (out.along_tokens) {
      // W^T W K x is along x, as of K = aligned alone linear_backward has it.
      const X beyond = squares_beyond(*out.along_tokens, own_tokens(*out.along_tokens),
                                      without_mean(input.x), pass.tokens(input.tokens));
      out.x = with_positive_second(calculus,
                                   sum(out.x, scaled(beyond, weight_noise(transposed(layer)) / 2)));
    }
    const double gain = gain_of(calculus, layer);
    // Of what W^T does to k, beside what W does to r.
    const double ratio = static_cast<double>(layer.fan_out) / static_cast<double>(layer.fan_in);
    out.slopes = through_map(g.slopes, gain, gain * ratio);
    out.slopes = with_part_along(out.slopes, part_along(calculus, layer, out.aligned),
                                 input.overlap, g.along_mean);
    out.spread = back_through_linear(out.spread, out.coupling, weight_noise(transposed(layer)),
                                     values_of(calculus, out.x), static_cast<double>(layer.fan_in),
                                     pass.counts(input.tokens));
    if (!g.coupling)
      out.log_covariance =
          covariance_through_weights(pass, layer, g.x, input.tokens, g.log_covariance);
  }
  return out;
}

}  // namespace scalecalc::moments
