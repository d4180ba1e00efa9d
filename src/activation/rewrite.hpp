#pragma once

#include <optional>

#include "scalecalc/activation.hpp"

namespace scalecalc::activation_room {

/// expm1 stands in rewritten expressions as a function that only Lowering knows.
inline constexpr const char* expm1_name = "expm1";

/// A sum as a product or a single function that keeps its digits where the terms cancel:
/// c (1 - tanh(u)^2) = 4c sigmoid(2u) sigmoid(-2u); a/(1 + x) - a x/(1 + x)^2 = a/(1 + x)^2.
/// Nothing when no rule applies. The terms that a rule does not use stay a sum.
std::optional<Expr> without_cancellation(const Expr& sum);

/// k and u of k (1 + exp(u)).
struct OnePlusExp {
  Rational factor;
  Expr exponent;
};
std::optional<OnePlusExp> one_plus_exp(const Expr& sum);

}  // namespace scalecalc::activation_room
