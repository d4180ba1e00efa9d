#include "moments/passage.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {
namespace {

/// Where the second order is no correction, a lognormal's.
double noise_of(double k2, double k3, double n) {
  const double first = k2 / n, both = log_variance(k2, k3, n);
  return std::fabs(both - first) < first / 2 ? both : std::log1p(first);
}

}  // namespace

double forward_noise(const SizeMoments& at, double n) {
  return noise_of(at.kurtosis - 1, at.third, n);
}

namespace {

/// g^4 averages to 3, g^6 to 15; the Gaussian g alone has 2/n.
double backward_noise(const SizeMoments& at, double n) {
  const double k2 = 3 * at.slope_kurtosis - 1;
  const double k3 = 15 * at.slope_sixth - 9 * at.slope_kurtosis + 2;
  return noise_of(k2, k3, n) - 2 / n;
}

/// phi and phi' of the same unit.
double shared_noise(const WidthMoments& phi, double n) {
  const double apart = phi.second * phi.slope;
  return apart > 0 ? (phi.own_pair(1) / apart - 1) / n : 0;
}

struct Sums {
  double weight = 0, y = 0, b = 0, noise = 0, back_noise = 0;
};

/// Sums over equal steps of t, which are spectrally accurate where the map is smooth in x on the
/// scale of a step: a step is 1 deviation, or 1 in x.
struct Steps {
  static constexpr double reach = 5;
  static constexpr int most = 40;
  double step;
  int half;
  explicit Steps(double deviation)
      : step(std::max(std::min(1.0, 1 / deviation), reach / most)),
        half(static_cast<int>(std::ceil(reach / step))) {}
};

Passage straight(const WidthMoments& phi, const LogSize& x, double width) {
  Passage made;
  made.slope = phi.exponent;
  made.back_slope = phi.slope_exponent;
  made.noise = forward_noise(phi, width);
  made.back_noise = backward_noise(phi, width);
  const double bend = phi.curvature + phi.exponent - phi.exponent * phi.exponent;
  made.mean = made.slope * x.mean + bend / 2 * x.variance - made.noise / 2;
  made.back_mean = made.back_slope * x.mean - made.back_noise / 2;
  return made;
}

bool is_usable(const SizeMoments& at) {
  return at.second > 0 && at.slope > 0 && std::isfinite(at.kurtosis) &&
         std::isfinite(at.slope_kurtosis) && std::isfinite(at.third) &&
         std::isfinite(at.slope_sixth);
}

/// Whether the map is still where its line at 0 leads: homogeneous activations need no sum.
bool is_straight(const SizesAt& sizes, const WidthMoments& phi, double x) {
  constexpr double near = 3e-3;
  const SizeMoments at = sizes(std::exp(x));
  const double allowed = near * (1 + std::fabs(x));
  return is_usable(at) &&
         std::fabs(std::log(at.second / phi.second) - phi.exponent * x) < allowed &&
         std::fabs(std::log(at.slope / phi.slope) - phi.slope_exponent * x) < allowed;
}

}  // namespace

Passage passage(const SizesAt& sizes, const WidthMoments& phi, const LogSize& x, double width) {
  // Past the widest no draw is like another, and sizes leave the range of a double.
  constexpr double small = 1e-4, widest = 400;
  Passage made = straight(phi, x, width);
  made.both_noise = shared_noise(phi, width);
  if (!(x.variance > small) || x.variance > widest || !is_usable(phi)) return made;
  const double deviation = std::sqrt(x.variance);
  if (is_straight(sizes, phi, x.mean - Steps::reach * deviation) &&
      is_straight(sizes, phi, x.mean + Steps::reach * deviation))
    return made;
  const Steps steps(deviation);
  Sums mean;
  double ty = 0, tb = 0, yy = 0, bb = 0, yb = 0;
  for (int k = -steps.half; k <= steps.half; ++k) {
    const double t = k * steps.step, weight = std::exp(-t * t / 2);
    const SizeMoments at = sizes(std::exp(x.mean + deviation * t));
    if (!is_usable(at)) return made;
    const double noise = forward_noise(at, width), back_noise = backward_noise(at, width);
    const double y = std::log(at.second / phi.second) - noise / 2;
    const double b = std::log(at.slope / phi.slope) - back_noise / 2;
    mean.weight += weight;
    mean.y += weight * y;
    mean.b += weight * b;
    mean.noise += weight * noise;
    mean.back_noise += weight * back_noise;
    ty += weight * t * y;
    tb += weight * t * b;
    yy += weight * y * y;
    bb += weight * b * b;
    yb += weight * y * b;
  }
  const double total = mean.weight;
  made.mean = mean.y / total;
  made.back_mean = mean.b / total;
  made.noise = mean.noise / total;
  made.back_noise = mean.back_noise / total;
  made.slope = ty / total / deviation;
  made.back_slope = tb / total / deviation;
  const double v = x.variance;
  made.rest = std::max(0.0, yy / total - made.mean * made.mean - made.slope * made.slope * v);
  made.back_rest = std::max(
      0.0, bb / total - made.back_mean * made.back_mean - made.back_slope * made.back_slope * v);
  made.both_rest = yb / total - made.mean * made.back_mean - made.slope * made.back_slope * v;
  return made;
}

}  // namespace scalecalc::moments
