#include "gaussian/quadrature/one_dimension.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gaussian/quadrature/digits.hpp"
#include "gaussian/quadrature/existence.hpp"
#include "gaussian/quadrature/moment_kind.hpp"
#include "gaussian/quadrature/window.hpp"

namespace scalecalc {
namespace gaussian::quadrature {
namespace {

using Channels = std::array<Integral, MomentIntegrand::channels>;

constexpr std::array<Moment, MomentIntegrand::channels> moments_1d = {
    Moment::mean, Moment::second, Moment::slope_mean, Moment::slope_second, Moment::fourth};

/// Factors of the integrand, each of them rounded a few times.
constexpr std::array<double, MomentIntegrand::channels> factors = {1, 2, 1, 2, 4};

/// Rounding of phi (two units), of the density (its root is taken to the fourth power) and of z in
/// it. Below 1e-280 products of small numbers lose digits.
Estimate estimate(const Integral& integral, double factor) {
  const double rounding = epsilon * ((3 + 2 * factor) * integral.absolute + integral.moved);
  const auto value = static_cast<double>(integral.value);
  const double lost = std::fabs(value) < 1e-280 ? std::numeric_limits<double>::min() : 0;
  return {value, integral.error + rounding + lost, Method::quadrature};
}

}  // namespace

std::array<double, 2> sides(const Activation& activation, double x, bool slope) {
  const auto f = [&](double at) { return slope ? activation.slope(at) : activation.value(at); };
  for (const Break& at : activation.breaks()) {
    if (at.at == x) return {f(std::nextafter(x, -infinite)), f(std::nextafter(x, infinite))};
  }
  return {f(x), f(x)};
}

Estimate point_moment(const Activation& activation, Moment moment, const GaussianInput& input) {
  const int power = power_of(moment);
  const auto [left, right] = sides(activation, input.mean, is_of_slope(moment));
  // u and v are on the same side of a break with probability 1/2 + asin(c)/pi.
  const double c = is_pair(moment) ? *input.correlation : 1.0;
  const double same = 0.5 + std::asin(c) / std::numbers::pi;
  double value = same * 0.5 * (std::pow(left, power) + std::pow(right, power));
  if (same < 1) value += (1 - same) * left * right;
  if (!std::isfinite(value)) too_large(profile_of(activation), moment);
  const double size = std::pow(std::max(std::fabs(left), std::fabs(right)), power);
  return {value, 4 * power * epsilon * size, Method::quadrature};
}

std::optional<std::array<Estimate, MomentIntegrand::channels>> moments_in_double(
    const Profile& profile, const GaussianInput& input) {
  Line line;
  line.tracks[0] = {input.mean, std::sqrt(input.variance)};
  const Window window = moment_window(profile, line);
  std::array<Estimate, MomentIntegrand::channels> result;
  if (!window.is_resolved) return std::nullopt;
  if (window.is_empty) {
    result.fill({0, std::numeric_limits<double>::min(), Method::quadrature});
    return result;
  }
  std::vector<Panel> panels;
  fill(line, anchors(line, profile, window.low, window.high), panels);
  MomentIntegrand integrand(profile.activation, line);
  const Channels sums = integrate(integrand, panels);
  if (!integrand.is_finite()) return std::nullopt;
  for (std::size_t c = 0; c < result.size(); ++c) {
    result[c] = estimate(sums[c], factors[c]);
  }
  return result;
}

}  // namespace gaussian::quadrature

Moments1D quadrature_1d(const Activation& activation, const GaussianInput& input) {
  using namespace gaussian::quadrature;
  check_input(input, Moment::mean);
  const Profile& profile = profile_of(activation);
  std::optional<std::array<Estimate, MomentIntegrand::channels>> in_double;
  for (const Moment moment : moments_1d) {
    if (moment != Moment::slope_second) check_existence(profile, moment, input);
  }
  if (input.variance > 0) in_double = moments_in_double(profile, input);
  const auto one = [&](std::size_t channel) {
    if (input.variance == 0) return point_moment(activation, moments_1d[channel], input);
    return in_double ? (*in_double)[channel] : exact_estimate(profile, moments_1d[channel], input);
  };
  Moments1D result{one(0), one(1), one(2), one(4), {}};
  if (!obstacle(profile, Moment::slope_second, input)) result.slope_second = one(3);
  return result;
}

}  // namespace scalecalc
