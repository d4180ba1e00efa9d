#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "moments/along_mean.hpp"
#include "moments/layers/activation.hpp"
#include "moments/parameter_gradients.hpp"
#include "moments/tanh_norm.hpp"

/// y = tanh(alpha x) in the place of a norm (docs/theory/layers.md#dyt): an activation whose alpha
/// is a parameter.
namespace scalecalc::moments {

/// Of the gradient of alpha, sum g psi with psi = x (1 - tanh(alpha x)^2).
template <class X>
struct AlphaMoments {
  std::size_t parameter = 0;
  X psi;  ///< E psi^2, E psi_t psi_u
  /// E psi y, which goes with a gradient along y.
  typename X::Number along{};
  double kurtosis = 3;  ///< E psi^4/(E psi^2)^2
  bool known = true;    ///< behind another activation: whether both together are one expression
};

template <class C, class X>
AlphaMoments<X> alpha_moments(C& calculus, const AlphaFunctions& of,
                              const ActivationChain<X>* chain, const Signal<X>& input) {
  AlphaMoments<X> made;
  std::optional<std::string> psi = of.slope, along = of.slope_value;
  if (chain != nullptr) {
    psi = composed(of.slope, chain->function);
    along = composed(of.slope_value, chain->function);
    made.known = psi && along;
  }
  const Signal<X>& x = made.known && chain != nullptr ? chain->input : input;
  const auto function = calculus.function(made.known ? *psi : of.slope);
  made.psi = value_expectations(calculus, function, x);
  if constexpr (C::next_orders) {
    const Alike<double> u = average(x.x);
    const double second = average(made.psi).second;
    if (second > 0)
      made.kurtosis =
          calculus.expectation(function, Moment::fourth, Token<double>{u.mean, u.second}) /
          (second * second);
  }
  made.along = average(value_expectations(
                           calculus, calculus.function(made.known ? *along : of.slope_value), x))
                   .mean;
  if constexpr (C::next_orders) {
    if (!x.law || (chain != nullptr && !made.known)) return made;
    made.psi = with_bounded_cross(
        sum(made.psi, uniform(made.psi, excess_of_law(calculus, made.known ? *psi : of.slope, x))));
    made.along += excess_of_law(calculus, made.known ? *along : of.slope_value, x).mean;
  }
  return made;
}

/// E (dL/dalpha)^2 = n [T E psi^2 g + T (T - 1) E psi_t psi_u k], and the square of the mean that a
/// part a y of the gradient gives all features of all tokens.
template <class C, class X>
void fill_alpha(BackwardPass<C, X>& pass, std::int64_t width, std::int64_t count,
                const AlphaMoments<X>& of, const X& y, const Gradient<X>& g) {
  using N = typename C::Number;
  const N features = pass.calculus().size(width, "width"), tokens = pass.tokens(count);
  N gradient = features * token_sum(of.psi, g.x, tokens, pass.batch());
  double less = 0;
  if constexpr (C::next_orders) {
    // psi has the cosine E psi y/(E psi^2 E y^2)^(1/2) to y, along which the gradient has `radial`.
    const double sizes = average(of.psi).second * average(y).second;
    const double radial = g.read_token ? g.read_token->radial : g.directions.radial;
    if (sizes > 0) less = (1 - radial) * std::min(1.0, of.along * of.along / sizes);
    gradient = gradient * std::max(1.0 / 4, 1 - less);
  }
  N mean = g.aligned * features * tokens * pass.batch() * of.along * share_along(g.along_mean, y);
  if constexpr (C::next_orders)
    mean += features * tokens * pass.batch() * g.mean_beyond * average(of.psi).mean;
  if constexpr (C::next_orders) {
    // One token of each sequence has it.
    if (g.read_token) mean += features * pass.batch() * g.read_token->aligned * of.along;
  }
  gradient = gradient + mean * mean;
  fill(pass, of.parameter, gradient, g, {});
  if constexpr (C::next_orders) {
    auto& record = pass.parameter(of.parameter);
    // The square of one number, given V = sum psi^2 a Gaussian one about its mean: E S^4 = M^4 + 6
    // M^2 E V + 3 E V^2, where psi of tokens that are alike are one term of V.
    const double alike = average(of.psi).second > 0
                             ? std::clamp(average(of.psi).cross / average(of.psi).second, -1.0, 1.0)
                             : 1;
    const double samples = pass.counts(count).samples();
    const double terms = features / ((1 - alike * alike) / samples + alike * alike);
    const double sure = gradient > 0 ? mean * mean / gradient : 0, rest = 1 - sure;
    record.spread += std::log(sure * sure + 6 * sure * rest +
                              3 * rest * rest * (1 + std::max(0.0, of.kurtosis - 1) / terms));
    // What a norm over samples takes, and the slopes of a function above that nothing but sums lie
    // before, go with psi and are not followed.
    record.truncation += std::fabs(less);
    if (!of.known || g.directions.samples < 1 || g.by_slopes) record.truncation += 1;
  }
}

}  // namespace scalecalc::moments
