#pragma once

#include <cmath>

#include "moments/calculus.hpp"

/// Gradients that know what they are of: tied to the input of the activation above, or along the
/// outputs of a norm.
namespace scalecalc::moments {

/// Of a layer below an activation: norms use the tie, sums hand it on.
inline bool keeps_tie(const Layer& layer) {
  return std::holds_alternative<Norm>(layer.op) || std::holds_alternative<Residual>(layer.op);
}

/// An activation, a sum, an activation: both slopes follow the same stream, and the mean of their
/// product is not that of the means. What is left out is the stream's share of that.
template <class C, class X>
void repeated_slopes(C& calculus, Gradient<X>& skip, double stream_share) {
  if (!skip.tie) return;
  const double left_out = stream_share * skip.tie->slope_scatter;
  const Alike<double> x = values_of(calculus, skip.x);
  skip.truncation.second += left_out;
  if (x.second > 0) skip.truncation.cross += 2 * left_out * std::fabs(x.cross) / x.second;
  calculus.assume("activation", "slopes along a stream are independent",
                  "the stream's share of their variance", left_out, 0.1);
}

/// Of a sum with `factor` x, what is tied to x.
template <class C, class X>
void tie_to(const C& calculus, Gradient<X>& g, const typename C::Number& factor) {
  using N = typename C::Number;
  if (!g.tie) return;
  if (calculus.value(factor) == 0)
    g.tie.reset();
  else
    g.tie->input = scaled(g.tie->input, N(1 / (factor * factor)));
}

/// A gradient a (x + z) reaches either norm with all of it along a sum of both outputs; each
/// takes its own output out, rho = E[x z], and leaves a (z - rho x) or a (x - rho z). `post`,
/// `dual`, `shared`: x, z and their mean product.
template <class X>
void split_aligned(const X& post, const X& dual, const X& shared, Gradient<X>& g, Gradient<X>& gz,
                   X& both) {
  using N = typename X::Number;
  const N second = average(post).second, a2 = g.aligned * g.aligned;
  const N rho = average(shared).second / second, rho2 = rho * rho;
  const auto mix = [&](const N& of_post, const N& of_dual, const N& of_shared) {
    return scaled(sum(sum(scaled(post, of_post), scaled(dual, of_dual)), scaled(shared, of_shared)),
                  a2);
  };
  const X rest = sum(g.x, mix(N(-1), N(-1), N(-2)));
  g.x = without_mean(sum(rest, mix(rho2, N(1), N(-2 * rho))));
  gz.x = without_mean(sum(rest, mix(N(1), rho2, N(-2 * rho))));
  both = without_mean(sum(rest, mix(N(-rho), N(-rho), N(1 + rho2))));
  g.aligned = gz.aligned = N(0);
}

}  // namespace scalecalc::moments
