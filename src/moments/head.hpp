#pragma once

#include "moments/calculus.hpp"
#include "moments/linear.hpp"

/// Loss heads (theory, section 2; notes 4): the gradient of the loss in the logits, and what the
/// head's own weights add below it.
namespace scalecalc::moments {

template <class X>
struct LossGradient {
  X logits;
  typename X::Number
      hessian;  ///< E of a diagonal entry of H of one token's loss, times the reduction
  typename X::Number loss;
};

/// E ln sum of V exponentials of N(0, tau2): Int (e^-t - (E e^{-t e^s})^V)/t dt.
double expected_log_sum(double classes, double tau2);

/// E f(tau2) for each token, E f(tau2, c) for each pair. Targets know nothing of the logits, and
/// two are equal with the chance kappa, 1/V where they are uniform: g = (1 - 2/V + P2)/V, and k =
/// (O - 2/V + kappa)/V, since what targets have in common gradients have.
template <class C, class X>
X cross_entropy_moments(C& calculus, const Network& network, const X& logits) {
  using N = typename C::Number;
  using T = Token<N>;
  const N v = calculus.size(network.classes, "classes");
  const N shared =
      network.target_collision > 0 ? N(calculus.real(network.target_collision) - 2 / v) : N(-1 / v);
  const auto prepared = calculus.softmax_head(network.classes, average(logits).second);
  return map(
      logits,
      [&](const T& u) {
        return T{N(0), (1 - 2 / v + calculus.softmax_second(prepared, u.second)) / v};
      },
      [&](const T& t, const T& u, const N& cross) {
        return N((calculus.softmax_cross(prepared, t.second, u.second, cross) + shared) / v);
      });
}

template <class C, class X>
LossGradient<X> loss_gradient(C& calculus, const Network& network, const X& logits,
                              const typename C::Number& samples) {
  using N = typename C::Number;
  const N v = calculus.size(network.classes, "classes");
  const bool is_mean = network.reduction == Reduction::mean;
  const N weight = is_mean ? N(1 / samples) : N(1);
  const N total = is_mean ? N(1) : samples;
  const auto mean = average(logits);
  if (network.loss == Loss::mse) {
    // dL/dy = y - t: targets of different tokens are independent.
    const N target = calculus.real(network.target_second);
    using T = Token<N>;
    const X gradient = map(
        logits,
        [&](const T& u) {
          return T{N(0), u.second + target};
        },
        [](const T&, const T&, const N& cross) { return cross; });
    return {scaled(gradient, N(weight * weight)), weight, total * v * (mean.second + target) / 2};
  }
  const X gradient = cross_entropy_moments(calculus, network, logits);
  const N p2 = average(gradient).second * v - 1 + 2 / v;
  return {scaled(gradient, N(weight * weight)), weight * (1 - p2) / v,
          total * calculus.log_sum(network.classes, mean.second)};
}

}  // namespace scalecalc::moments
