#pragma once

#include "gaussian/quadrature/profile.hpp"
#include "scalecalc/gaussian.hpp"

namespace scalecalc::gaussian::quadrature {

/// A moment by arithmetic of 30 digits and an unbounded range of exponents, for integrands that
/// doubles cannot hold. Throws Error(input) when the result is too large for a double.
Estimate exact_estimate(const Profile& profile, Moment moment, const GaussianInput& input);

}  // namespace scalecalc::gaussian::quadrature
