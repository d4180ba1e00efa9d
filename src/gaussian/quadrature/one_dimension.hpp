#pragma once

#include "gaussian/quadrature/moments.hpp"
#include "scalecalc/gaussian.hpp"

namespace scalecalc::gaussian::quadrature {

/// In the order of MomentIntegrand. Nothing when doubles cannot hold the integrand.
std::optional<std::array<Estimate, MomentIntegrand::channels>> moments_in_double(
    const Profile& profile, const GaussianInput& input);

/// phi or phi' on the left and on the right of x; the same twice where there is no break.
std::array<double, 2> sides(const Activation& activation, double x, bool slope);

/// The limit of a vanishing variance, of a pair too.
Estimate point_moment(const Activation& activation, Moment moment, const GaussianInput& input);

}  // namespace scalecalc::gaussian::quadrature
