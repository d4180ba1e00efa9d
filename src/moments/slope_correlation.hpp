#pragma once

#include <cmath>

#include "moments/calculus.hpp"

/// Gradients that know what they are of: tied to the input of the activation above, or along the
/// outputs of a norm.
namespace scalecalc::moments {

/// Of a layer below an activation: norms use the correlation, sums hand it on.
inline bool keeps_slope_correlation(const Layer& layer) {
  const auto* norm = std::get_if<Norm>(&layer.op);
  return (norm != nullptr && norm->kind != NormKind::dyt) ||
         std::holds_alternative<Residual>(layer.op);
}

/// Of a layer that a gradient meets which knows the stream it is of.
inline bool keeps_of_stream(const Layer& layer) {
  const auto* norm = std::get_if<Norm>(&layer.op);
  return (norm != nullptr && norm->kind == NormKind::dyt) ||
         std::holds_alternative<ActivationLayer>(layer.op) ||
         std::holds_alternative<Residual>(layer.op);
}

/// An activation, a sum, an activation: both slopes follow the same stream, and the mean of their
/// product is not that of the means. What is left out is the stream's share of that.
template <class C, class X>
void repeated_slopes(C& calculus, Gradient<X>& skip, double stream_share) {
  if (!skip.slope_correlation) return;
  const double left_out = stream_share * skip.slope_correlation->slope_variance;
  const Alike<double> x = values_of(calculus, skip.x);
  skip.truncation.second += left_out;
  if (x.second > 0) skip.truncation.cross += 2 * left_out * std::fabs(x.cross) / x.second;
  calculus.assume("activation", "slopes along a stream are independent",
                  "the stream's share of their variance", left_out, 0.1);
}

/// Of a sum with `factor` x, what is tied to x.
template <class C, class X>
void scale_slope_correlation(const C& calculus, Gradient<X>& g, const typename C::Number& factor) {
  using N = typename C::Number;
  if (!g.slope_correlation) return;
  if (calculus.value(factor) == 0)
    g.slope_correlation.reset();
  else
    g.slope_correlation->input = scaled(g.slope_correlation->input, N(1 / (factor * factor)));
}

}  // namespace scalecalc::moments
