#pragma once

#include <optional>

#include "claims/language.hpp"
#include "claims/sample.hpp"

/// Formulas at points, with certainty.
namespace scalecalc::claims {

/// How left stands to right.
enum class Order { less, equal, greater };

/// By enclosures that are narrowed until they lie apart, or agree to 50 digits (`equal`; exactly
/// so with `exactly`). Nothing where a side has no value, or where that is not to be told.
std::optional<Order> order_at(const Expr& left, const Expr& right, const Values& at,
                              bool exactly = false);

/// The value, rounded once; nothing where there is none or where cancellation eats every digit.
std::optional<double> value_at(const Expr& expr, const Values& at);

/// The sum of what the expression adds up, each taken positive: what its value is to be small
/// against, where it cancels.
double magnitude(const Expr& expr, const Bindings& at);

}  // namespace scalecalc::claims
