#pragma once

#include "gaussian/quadrature/moments.hpp"
#include "scalecalc/gaussian.hpp"

namespace scalecalc::integration {

/// In the order of MomentIntegrand. Nothing when doubles cannot hold the integrand.
std::optional<std::array<Estimate, MomentIntegrand::channels>> moments_in_double(
    const Profile& profile, const GaussianInput& input);

/// The point mass: variance 0, or a pair with it.
Estimate point_moment(const Activation& activation, Moment moment, double mean);

}  // namespace scalecalc::integration
