#pragma once

#include <cstdint>
#include <string_view>

#include "moments/gradient.hpp"
#include "moments/pointwise.hpp"
#include "moments/signal.hpp"
#include "moments/width_moments.hpp"
#include "scalecalc/gaussian.hpp"
#include "scalecalc/network.hpp"

// clang-format off
/// What a number type brings to the rules. A rule is a template over a Calculus C:
///
///   using Number;                       double, a value with a standard error, Expr
///   static constexpr bool next_orders;  false: leading order alone (no 1/d, no T/d, no spread)
///
///   // the description, in the calculus' own numbers (Expr: symbols such as width, lambda)
///   Number size(std::int64_t n, std::string_view name) const;   "width", "tokens", "batch", ...
///   Number variance(const Linear&) const;       of an entry as it is used: (multiplier std)^2
///   Number bias_variance(const Linear&) const;  0 without a bias
///   Number skip(const Residual&) const, branch(const Residual&) const;
///   Number scale(const Attention&) const;       of the scores
///   Number real(double value) const;            any other number of the description
///
///   // primitives; functions of a Gaussian of this mean and variance
///   Function function(const std::string&);      a cheap handle of an activation or expression
///   Number expectation(const Function&, Moment, const Token<Number>& u);
///   Number pair(const Function&, Moment, const Token<Number>& u, const Token<Number>& v,
///               const Number& cross);           raw moments, as in a state; clamped
///   HeadSoftmax softmax_head(std::int64_t classes, const Number& tau2);  logits of about tau2
///   Number softmax_second(const HeadSoftmax&, const Number& tau2);       P2
///   Number softmax_cross(const HeadSoftmax&, const Number& tau2_t, const Number& tau2_u,
///                        const Number& cross);                           O
///   Number log_sum(std::int64_t classes, const Number& tau2);            E ln sum_j e^{z_j}
///   Number positive(const Number&) const;       at least 0 (rounding)
///   sqrt(Number) and + - * / by argument-dependent lookup; whole constants are ints
///
///   // finite width, where next_orders: what NormVariance and RelativeError are made of
///   double value(const Number&) const;
///   const WidthMoments& width(const Function&, double mean, double variance);
///   SizeMoments sizes(const Function&, double mean, double variance) const;
///   SoftmaxAverages softmax_averages(const ScoreLine&, double c);   of attention's rows
///
///   // what the rule took for granted; the driver knows the site
///   void enter(const std::string& site);
///   void assume(std::string_view rule, std::string_view text);
///   void assume(std::string_view rule, std::string_view text, std::string_view name, double value,
///               double limit);                  "name = value is small", holds up to the limit
///   void omit(double second, double cross);     size of orders left out, relative to second
///   template <class X> void complete(const std::string& path, Signal<X>&);
///       a value is complete: takes in what was omitted and the primitives' errors, refuses what
///       is not finite
///   double take_slope_error();                  largest absolute error of slopes since asked
///   void check(const std::string& path, const Alike<Number>& gradient);  refuses what is not finite
///
/// A calculus that keeps things between calls has `template <class T> T& cache();` (one
/// default-constructed T for the whole propagation).
// clang-format on
namespace scalecalc::moments {

/// A state in the numbers of a calculus.
template <class C>
using AlikeOf = Alike<typename C::Number>;

/// var(u) = E u^2 - (E u)^2.
template <class N>
N variance_of(const Token<N>& u) {
  return u.second - u.mean * u.mean;
}

/// Averages as plain numbers, for what belongs to finite width.
template <class C, class X>
Alike<double> values_of(const C& calculus, const X& x) {
  const auto& mean = average(x);
  return {calculus.value(mean.mean), calculus.value(mean.second), calculus.value(mean.cross),
          calculus.value(mean.between)};
}

}  // namespace scalecalc::moments
