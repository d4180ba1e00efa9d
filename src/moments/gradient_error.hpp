#pragma once

#include <algorithm>
#include <cmath>

#include "moments/calculus.hpp"
#include "moments/norm_variance.hpp"

/// How far gradients, and their sums over tokens, may be off by what is not known of the factors
/// that they are products of.
namespace scalecalc::moments {

/// Of a sum of gradients over tokens, what the error of their crosses makes.
template <class C, class X>
double sum_error(const C& calculus, const Gradient<X>& g, const Counts& over) {
  const Alike<double> x = values_of(calculus, g.x);
  const double pairs = (over.tokens - 1) * g.truncation.cross * x.second;
  const double total = row_sum(x, over);
  return total > 0 ? pairs / total : 0;
}

/// Of a sum over tokens x_t g_t: what its terms are together, without their signs, and what is not
/// known of them, no more than as much; of one token in front of all samples.
struct TermError {
  double terms = 0, error = 0;
};
template <class C, class X>
TermError error_of_terms(const C& calculus, const X& input, const RelativeError& of_input,
                         const Gradient<X>& g, const Counts& over) {
  const Alike<double> x = values_of(calculus, input), k = values_of(calculus, g.x);
  const double pairs = over.tokens - 1, others = (over.batch - 1) * over.tokens;
  const double size = std::fabs(x.second * k.second);
  const double crossed =
      pairs * std::fabs(x.cross * k.cross) + others * std::fabs(x.between * k.between);
  const double unknown_x = pairs * std::fabs(k.cross) + others * std::fabs(k.between);
  const double unknown_g = pairs * std::fabs(x.cross) + others * std::fabs(x.between);
  TermError out;
  out.terms = size + crossed;
  out.error = size * (of_input.second + g.truncation.second) +
              std::fabs(x.second) * of_input.cross * unknown_x +
              std::fabs(k.second) * g.truncation.cross * unknown_g;
  out.error = std::min<double>(out.error, out.terms);
  return out;
}

/// Of sum over tokens x_t g_t, relative to its size: what is not known of x and of g, where the
/// products of different tokens add up.
template <class C, class X>
NonNegative product_error(const C& calculus, const X& input, const RelativeError& of_input,
                          const Gradient<X>& g, const Counts& over) {
  const Alike<double> x = values_of(calculus, input), k = values_of(calculus, g.x);
  const auto pairs = [&](double a, double b) {
    return (over.tokens - 1) * std::fabs(a) + (over.batch - 1) * over.tokens * std::fabs(b);
  };
  const double total = x.second * k.second + (over.tokens - 1) * x.cross * k.cross +
                       (over.batch - 1) * over.tokens * x.between * k.between;
  if (!(total > 0)) return g.truncation.second + of_input.second;
  // A second moment that is all but 0 may be rounding, of either sign.
  const double of_x = std::fabs(x.second), of_g = std::fabs(k.second);
  const double own = of_x * of_g * (of_input.second + g.truncation.second);
  const double others = of_x * of_input.cross * pairs(k.cross, k.between) +
                        of_g * g.truncation.cross * pairs(x.cross, x.between);
  // Of both together, where neither is small.
  const double both = (over.tokens - 1) * of_x * of_input.cross * of_g * g.truncation.cross;
  return (own + others + both) / total;
}

/// Without a norm tokens' sizes vary by more than 2/n, and what multiplies the gradient with them:
/// as |x|^power, `share` of it. The gradient that comes down follows the same sizes, and the mean
/// of the product is taken for the product of means.
template <class X>
void add_size_error(Gradient<X>& g, const NormVariance& of, double power, std::int64_t width,
                    double share = 1) {
  const double latent = std::max(0.0, of.token_variance - 2 / static_cast<double>(width));
  const double grown = std::max(power * power * latent / 2, power * of.log_range);
  const double bound = share * std::expm1(std::min(grown, largest_log));
  g.truncation.second += bound;
  g.truncation.cross += bound;
}

/// The same at u and w of a gated unit whose E y^2 goes as the power e of the size S of its input:
/// of a gradient as S^p, E S^p over a typical S^p is stated, of S that varies by more than 2/n; of
/// less what is beyond a gradient along y, p = 2e - 1 (docs/theory/layers.md#gated-sizes).
template <class X>
void add_gate_error(Gradient<X>& g, const NormVariance& of, double e, std::int64_t width) {
  const double own = 2 / static_cast<double>(width), all = of.token_variance;
  const auto growth = [](double p) { return p * p / 2; };
  const double p = g.size_exponent, known = growth(2 * e - 1);
  const double grown =
      growth(p) * std::max(0.0, all - own) + std::max(0.0, growth(p) - known) * std::min(all, own);
  const double bound =
      std::expm1(std::min(std::max(grown, std::fabs(p) * of.log_range), largest_log));
  g.truncation.second += bound;
  g.truncation.cross += bound;
}

/// An absolute error of E phi'^2 and its like, relative to what comes out.
template <class C, class X>
void add_slope_error(const C& calculus, Gradient<X>& out, const Gradient<X>& g, double error) {
  if constexpr (C::next_orders) {
    const double before = values_of(calculus, g.x).second;
    const double after = values_of(calculus, out.x).second;
    if (!(after > 0)) return;
    out.error.second += error * before / after;
    out.error.cross += error * before / after;
  }
}

}  // namespace scalecalc::moments
