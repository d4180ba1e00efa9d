#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "moments/backward_pass.hpp"
#include "moments/gradient_error.hpp"

/// What a backward step writes into the record of a parameter: the gradient's second moment, how
/// far it varies over draws, and what is not known of it.
namespace scalecalc::moments {

template <class C, class X>
void fill(BackwardPass<C, X>& pass, std::size_t parameter, const typename C::Number& gradient,
          const Gradient<X>& g, const NormVariance& input) {
  auto& record = pass.parameter(parameter);
  record.gradient = gradient;
  record.spread = g.spread.batch_variance + input.batch_variance;
  record.error = g.error.second;
  record.truncation = g.truncation.second;
}

/// Variance of the gradient sum_t x_t g_t of a weight, in networks that are not plain stacks.
template <class C, class X>
void fill_product_variance(BackwardPass<C, X>& pass, std::size_t parameter, const Gradient<X>& g,
                           const X& input, const NormVariance& spread, std::int64_t tokens) {
  if constexpr (C::next_orders) {
    if (g.coupling) return;
    const C& calculus = pass.calculus();
    pass.parameter(parameter).spread =
        variance_of_product(g.log_covariance, values_of(calculus, input), values_of(calculus, g.x),
                            pass.counts(tokens)) +
        spread.batch_variance;
  }
}
/// The same of a bias: the sum alone.
template <class C, class X>
void fill_sum_variance(BackwardPass<C, X>& pass, std::size_t parameter, const Gradient<X>& g) {
  if constexpr (C::next_orders) {
    if (!g.coupling) pass.parameter(parameter).spread = std::max(g.log_covariance.value(1, 1), 0.0);
  }
}
/// A sum whose terms all but cancel is known to `error` only, and at least a thousandth of that,
/// for a relative error to say it.
inline void fill_cancelled(ParameterRecord<double>& record, double error) {
  constexpr double least = 1e-3;
  if (!(error > record.gradient)) return;
  record.gradient = std::max(record.gradient, least * error);
  record.truncation = std::max<double>(record.truncation, error / record.gradient);
}
/// Of a gradient `own` and what overlaps that it follows add, the next order of that covariance,
/// 4/n as a norm's own is, is left out: relative to the sum.
inline double error_of_covariance(double own, double covariance, std::int64_t fan_in) {
  const double sum = own + covariance, share = std::fabs(covariance) / sum;
  return sum > 0 && std::isfinite(share) ? 4 / static_cast<double>(fan_in) * share : 0;
}
/// In a plain stack.
template <class N>
void fill_variance(ParameterRecord<N>& record, const WeightVariance& of) {
  record.spread = of.spread;
  if (of.log_range > 0)
    record.truncation = error_of_range(of.log_range).second;
  else
    record.grad_shift = of.mean_shift;
}

/// E (dL/db)^2 = E (sum_t g_t)^2, a weight's with x = 1 (docs/theory/layers.md#weight-gradient); of
/// orders left out it may have either sign. Of gradients that add up to 0 exactly rounding may
/// leave something, which is 0.
template <class C, class X>
typename C::Number sum_of(const BackwardPass<C, X>& pass, const X& gradient, std::int64_t tokens) {
  using N = typename C::Number;
  const N sum = pair_sum(gradient, pass.tokens(tokens), pass.batch());
  if constexpr (C::next_orders) {
    const X sizes = each(gradient, [](const N& one) { return N(one < 0 ? N(-one) : one); });
    const double all = pass.calculus().value(pair_sum(sizes, pass.tokens(tokens), pass.batch()));
    constexpr double roundings = 64;  // of a term, in each layer
    const double rounding = roundings * pass.steps() * pass.counts(tokens).samples() *
                            std::numeric_limits<double>::epsilon();
    if (std::fabs(pass.calculus().value(sum)) <= rounding * all) return N(0);
  }
  return sum;
}
template <class C, class X>
typename C::Number bias_of(const BackwardPass<C, X>& pass, const X& gradient, std::int64_t tokens) {
  return pass.calculus().positive(sum_of(pass, gradient, tokens));
}
template <class C, class X>
void fill_bias(BackwardPass<C, X>& pass, std::size_t parameter, const Gradient<X>& g,
               std::int64_t tokens) {
  using N = typename C::Number;
  const N sum = sum_of(pass, g.x, tokens);
  fill(pass, parameter, pass.calculus().positive(sum), g, {});
  if constexpr (C::next_orders) {
    const X ones = each(g.x, [](const N&) { return N(1); });
    const Counts counts = pass.counts(tokens);
    auto& record = pass.parameter(parameter);
    record.truncation = product_error(pass.calculus(), ones, {}, g, counts);
    if (sum != 0)
      fill_cancelled(record,
                     counts.samples() * error_of_terms(pass.calculus(), ones, {}, g, counts).error);
  }
}

}  // namespace scalecalc::moments
