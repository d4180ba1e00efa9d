#pragma once

#include "gaussian/quadrature/profile.hpp"
#include "scalecalc/gaussian.hpp"

/// Whether an expectation exists, and what is said when it does not.
namespace scalecalc::gaussian::quadrature {

/// Throws Error(input) for a NaN, a negative variance, a correlation outside [-1, 1] or missing.
void check_input(const GaussianInput& input, Moment moment);

struct Obstacle {
  std::string reason, hint;
};
/// What an expectation fails to exist for, if it does.
std::optional<Obstacle> obstacle(const Profile& profile, Moment moment, const GaussianInput& input);
/// Throws Error(input) "this expectation does not exist" with the reason.
void check_existence(const Profile& profile, Moment moment, const GaussianInput& input);

/// "mean of gelu", for messages.
std::string description(const Profile& profile, Moment moment);

/// The answer to an integral that is too large for a double.
[[noreturn]] void too_large(const Profile& profile, Moment moment);

}  // namespace scalecalc::gaussian::quadrature
