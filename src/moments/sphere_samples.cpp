#include "moments/sphere_samples.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace scalecalc::moments {
namespace {

/// Midpoints of the angle and of the root of the chance that two samples lie farther out.
constexpr std::size_t plane_angles = 64, plane_radii = 48,
                      plane_points = plane_angles * plane_radii;

/// Two samples of unit variance, one radius after the other.
struct Plane {
  std::array<double, plane_radii> gauss{}, sphere{}, weight{};
  std::array<double, plane_angles> cosine{}, sine{};
};

/// Radii of which the weighted mean square is that of two samples of unit variance: what is linear
/// in them has no excess.
void normalise(std::array<double, plane_radii>& radius, const Plane& at) {
  double square = 0;
  for (std::size_t k = 0; k < plane_radii; ++k)
    square += at.weight[k] * plane_angles * radius[k] * radius[k] / 2;
  for (double& r : radius) r /= std::sqrt(square);
}

/// In nu dimensions two coordinates of a point of the sphere of radius nu^(1/2) lie within r^2 = s
/// with the chance 1 - (1 - s/nu)^((nu - 2)/2), Gaussian ones with 1 - e^(-s/2).
Plane plane(double freedom) {
  Plane at;
  for (std::size_t k = 0; k < plane_radii; ++k) {
    const double root = (static_cast<double>(k) + 0.5) / plane_radii,
                 log_chance = 2 * std::log(root);
    at.weight[k] = 2 * root / plane_radii / plane_angles;
    at.gauss[k] = std::sqrt(-2 * log_chance);
    at.sphere[k] = std::sqrt(-freedom * std::expm1(2 * log_chance / (freedom - 2)));
  }
  normalise(at.gauss, at);
  normalise(at.sphere, at);
  for (std::size_t j = 0; j < plane_angles; ++j) {
    const double angle = 2 * std::numbers::pi * (static_cast<double>(j) + 0.5) / plane_angles;
    at.cosine[j] = std::cos(angle);
    at.sine[j] = std::sin(angle);
  }
  return at;
}

struct PlaneValues {
  std::vector<double> x, f, h;
  explicit PlaneValues(const Activation& activation, std::vector<double> at)
      : x(std::move(at)), f(plane_points), h(plane_points) {
    activation.evaluate(x.data(), f.data(), h.data(), plane_points);
  }
};

struct Averages {
  double mean = 0, second = 0, cross = 0;
  double slope_second = 0, slope_cross = 0, input_second = 0, input_cross = 0;
};

/// Of two samples of deviation `deviation` and cosine c.
Averages averages(const Activation& activation, const Plane& at,
                  const std::array<double, plane_radii>& radius, double deviation, double c) {
  const double sine = std::sqrt(std::max(0.0, 1 - c * c));
  std::vector<double> first(plane_points), second(plane_points);
  for (std::size_t k = 0; k < plane_radii; ++k)
    for (std::size_t j = 0; j < plane_angles; ++j) {
      const double r = deviation * radius[k];
      first[k * plane_angles + j] = r * at.cosine[j];
      second[k * plane_angles + j] = r * (c * at.cosine[j] + sine * at.sine[j]);
    }
  const PlaneValues u(activation, std::move(first)), v(activation, std::move(second));
  Averages sums;
  for (std::size_t i = 0; i < plane_points; ++i) {
    const double weight = at.weight[i / plane_angles];
    sums.mean += weight * u.f[i];
    sums.second += weight * u.f[i] * u.f[i];
    sums.cross += weight * u.f[i] * v.f[i];
    sums.slope_second += weight * u.h[i] * u.h[i];
    sums.slope_cross += weight * u.h[i] * v.h[i];
    sums.input_second += weight * u.x[i] * u.h[i] * u.x[i] * u.h[i];
    sums.input_cross += weight * u.x[i] * u.h[i] * v.x[i] * v.h[i];
  }
  return sums;
}

}  // namespace

SphereExcess sphere_excess(const Activation& activation, const Alike<double>& x,
                           double size_excess) {
  SphereExcess excess;
  if (!(x.second > 0) || !(size_excess < 0)) return excess;
  constexpr double least_freedom = 2.5;  // past two the plane of two samples is all there is
  const Plane at = plane(std::max(-2 / size_excess - 2, least_freedom));
  const auto both = [&](double cross) {
    const double c = std::clamp(cross / x.second, -1.0, 1.0), deviation = std::sqrt(x.second);
    return std::pair(averages(activation, at, at.sphere, deviation, c),
                     averages(activation, at, at.gauss, deviation, c));
  };
  const auto [sphere, gauss] = both(x.cross);
  excess.values = {sphere.mean - gauss.mean, sphere.second - gauss.second,
                   sphere.cross - gauss.cross, 0};
  excess.slopes = {0, sphere.slope_second - gauss.slope_second,
                   sphere.slope_cross - gauss.slope_cross, 0};
  excess.input_slope = {0, sphere.input_second - gauss.input_second,
                        sphere.input_cross - gauss.input_cross, 0};
  if (x.between == 0) {
    excess.values.between = sphere.mean * sphere.mean - gauss.mean * gauss.mean;
    return excess;
  }
  const auto [apart, gauss_apart] = both(x.between);
  excess.values.between = apart.cross - gauss_apart.cross;
  excess.slopes.between = apart.slope_cross - gauss_apart.slope_cross;
  excess.input_slope.between = apart.input_cross - gauss_apart.input_cross;
  return excess;
}

}  // namespace scalecalc::moments
