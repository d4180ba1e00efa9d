#pragma once

#include <optional>

#include "gaussian/quadrature/profile.hpp"
#include "scalecalc/gaussian.hpp"

namespace scalecalc::gaussian::quadrature {

/// A pair expectation, |correlation| <= 1. Nothing when doubles cannot hold the integrand.
std::optional<Estimate> pair_in_double(const Profile& profile, Moment moment,
                                       const GaussianInput& input);

/// The same at correlation cos(angle), or -cos(angle) when mirrored, 0 <= angle <= pi/2, by
/// integration over the plane.
std::optional<Estimate> pair_at_angle(const Profile& profile, bool slope, double mean,
                                      double variance, double angle, bool mirrored);

}  // namespace scalecalc::gaussian::quadrature
