#include "gaussian/quadrature/existence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text.hpp"
#include "gaussian/quadrature/exact.hpp"
#include "gaussian/quadrature/moment_kind.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::gaussian::quadrature {
namespace {

using symbolic::Real;
using Which = ExactFunction::Which;

/// log|f(mean + std z)|, with an exponent range that exp(x^2) does not leave.
double log_size(const ExactFunction& f, const GaussianInput& input, double z) {
  Real x(128), term(128);
  mpfr_set_d(x.get(), input.variance, MPFR_RNDN);
  mpfr_sqrt(x.get(), x.get(), MPFR_RNDN);
  mpfr_mul_d(x.get(), x.get(), z, MPFR_RNDN);
  mpfr_add_d(x.get(), x.get(), input.mean, MPFR_RNDN);
  term = f(x);
  mpfr_abs(term.get(), term.get(), MPFR_RNDN);
  mpfr_log(term.get(), term.get(), MPFR_RNDN);
  return mpfr_get_d(term.get(), MPFR_RNDN);
}

/// The exponent of the integrand along a ray of the plane of (z1, z2), at distance r.
double exponent_at(const ExactFunction& f, Moment moment, const GaussianInput& input, double angle,
                   double r) {
  const double density = -0.5 * r * r;
  if (!is_pair(moment)) {
    return power_of(moment) * log_size(f, input, r * std::cos(angle)) + density;
  }
  const double c = *input.correlation;
  const double a = std::sqrt((1 + c) / 2) * r * std::cos(angle);
  const double b = std::sqrt((1 - c) / 2) * r * std::sin(angle);
  return log_size(f, input, a + b) + log_size(f, input, a - b) + density;
}

/// Far out the integrand has to fall faster than 1/r^2.
bool falls(const ExactFunction& f, Moment moment, const GaussianInput& input, double angle) {
  for (const double r : {1e5, 1e7}) {
    const double exponent = exponent_at(f, moment, input, angle, r);
    if (!(exponent < -2 * std::log(r))) return false;
  }
  return true;
}

std::optional<Obstacle> growth_obstacle(const Profile& profile, Moment moment,
                                        const GaussianInput& input) {
  const Growth growth = std::max(profile.growth[0], profile.growth[1]);
  if (growth == Growth::above_gaussian) {
    return Obstacle{"the activation grows faster than any normal density falls",
                    "an activation that grows more slowly"};
  }
  if (growth != Growth::gaussian) return std::nullopt;
  const symbolic::WideExponents wide;
  const ExactFunction f(profile.activation, is_of_slope(moment) ? Which::slope : Which::value, 128);
  const int rays = is_pair(moment) ? 16 : 2;
  for (int k = 0; k < rays; ++k) {
    if (falls(f, moment, input, 2 * std::numbers::pi * k / rays)) continue;
    return Obstacle{fmt::format("the integrand grows faster than the density of variance {} falls",
                                input.variance),
                    "a smaller variance may have one, or an activation that grows more slowly"};
  }
  return std::nullopt;
}

std::optional<Obstacle> pole_obstacle(const Profile& profile, Moment moment,
                                      const GaussianInput& input) {
  const double order = is_of_slope(moment) ? profile.slope_pole : profile.value_pole;
  const bool is_split = is_pair(moment) && std::fabs(*input.correlation) < 1;
  // Orders are measured, so that an order of 1 need not come out as 1 exactly.
  if (order * (is_split ? 1 : power_of(moment)) < 0.99) return std::nullopt;
  return Obstacle{fmt::format("{} is unbounded at a break and not integrable there",
                              is_of_slope(moment) ? "the slope" : "the value"),
                  "other moments may exist"};
}

/// The square of a jump's slope is infinite; at variance 0 only where the mean is.
std::optional<Obstacle> jump_obstacle(const Profile& profile, Moment moment,
                                      const GaussianInput& input) {
  const bool is_point = input.variance == 0;
  const bool is_same = !is_pair(moment) || *input.correlation == 1;
  if (!is_of_slope(moment) || power_of(moment) == 1 || !is_same) return std::nullopt;
  for (const Break& at : profile.activation.breaks()) {
    if (!at.jump || (is_point && at.at != input.mean)) continue;
    return Obstacle{fmt::format("infinite: phi jumps at x = {}", at.at),
                    "E phi'^2 is finite for continuous activations only"};
  }
  return std::nullopt;
}

}  // namespace

std::string description(const Profile& profile, Moment moment) {
  return to_string(moment) + " of " + base::shortened(profile.activation.name());
}

void check_input(const GaussianInput& input, Moment moment) {
  if (!std::isfinite(input.mean)) {
    throw Error(ErrorKind::input, "the mean must be a finite number",
                fmt::format("mean = {}", input.mean));
  }
  if (!(input.variance >= 0) || !std::isfinite(input.variance)) {
    throw Error(ErrorKind::input, "the variance must be finite and at least 0",
                fmt::format("variance = {}", input.variance),
                "the second moment is variance + mean^2");
  }
  if (!is_pair(moment)) return;
  if (!input.correlation) {
    throw Error(ErrorKind::input, "a pair expectation needs a correlation", to_string(moment),
                "give a correlation between -1 and 1");
  }
  if (!(std::fabs(*input.correlation) <= 1)) {
    throw Error(ErrorKind::input, "the correlation must be between -1 and 1",
                fmt::format("correlation = {}", *input.correlation));
  }
}

std::optional<Obstacle> obstacle(const Profile& profile, Moment moment,
                                 const GaussianInput& input) {
  auto found = jump_obstacle(profile, moment, input);
  if (found || input.variance == 0) return found;
  found = growth_obstacle(profile, moment, input);
  return found ? found : pole_obstacle(profile, moment, input);
}

void check_existence(const Profile& profile, Moment moment, const GaussianInput& input) {
  if (const auto found = obstacle(profile, moment, input)) {
    throw Error(ErrorKind::input, "this expectation does not exist: " + found->reason,
                description(profile, moment), found->hint);
  }
}

void too_large(const Profile& profile, Moment moment) {
  throw Error(ErrorKind::input, "this expectation is too large for a double",
              description(profile, moment), "ask for --digits, or take a smaller mean or variance");
}

}  // namespace scalecalc::gaussian::quadrature
