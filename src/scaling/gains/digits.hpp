#pragma once

#include "scalecalc/gaussian.hpp"

namespace scalecalc::gains_room {

/// Digits beyond those asked for: a second moment minus a squared mean may cancel.
constexpr int guard = 20;

/// The moment at N(mean, variance), of a pair at this correlation, to `digits` digits: by the
/// closed form where there is one.
Rational precise_moment(const Activation& activation, Moment moment, const Rational& mean,
                        const Rational& variance, int digits,
                        const std::optional<Expr>& correlation = {});
/// d ln E phi^2/d ln variance at N(mean, variance), from E phi^2 there.
Rational precise_log_slope(const Activation& activation, const Rational& mean,
                           const Rational& variance, const Rational& second, int digits);
/// To `digits` digits, in plain notation.
std::string digits_of(const Expr& value, int digits);
/// x^(-1/2) to `digits` digits.
std::string inverse_root_digits(const Rational& x, int digits);

}  // namespace scalecalc::gains_room
