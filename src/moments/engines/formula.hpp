#pragma once

#include <functional>
#include <map>
#include <string>

#include "scalecalc/gaussian.hpp"

/// Expectations without a closed form, as functions that no simplification opens. They print in the
/// formula language and evaluate to numbers.
namespace scalecalc::moments {

/// The shortest decimal that reads back as this double. Throws Error(input) for what is not finite.
Expr exact(double value);

/// The same expression with every operand mapped.
Expr rebuilt(const Expr& expr, const std::function<Expr(const Expr&)>& map);

/// E of a moment of the activation at a Gaussian of this mean and variance (and correlation, of a
/// pair).
Expr unevaluated(const Activation& activation, Moment moment, const Expr& mean,
                 const Expr& variance);
Expr unevaluated(const Activation& activation, Moment moment, const Expr& mean,
                 const Expr& variance, const Expr& correlation);

/// As text: E[silu(z*q^(1/2))^2] over z ~ normal(0, 1), and w alike for the other of a pair;
/// P2(T, tau2), O(T, tau2, c), A(T, tau2), A_prime(T, tau2, c) for softmax averages.
std::string formula_text(const Expr& formula, Notation notation = Notation::text);

/// The value, with expectations and softmax averages integrated. Throws Error(input) as evaluate
/// does.
double formula_value(const Expr& formula, const Bindings& values);

}  // namespace scalecalc::moments
