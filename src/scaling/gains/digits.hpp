#pragma once

#include "scalecalc/gaussian.hpp"

namespace scalecalc::gains_room {

/// The moment at N(mean, variance) to `digits` digits: by the closed form where there is one.
Rational precise_moment(const Activation& activation, Moment moment, const Rational& mean,
                        const Rational& variance, int digits);
/// x^(-1/2) to `digits` digits.
std::string inverse_root_digits(const Rational& x, int digits);

}  // namespace scalecalc::gains_room
