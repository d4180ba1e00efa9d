#include "moments/width_moments.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "moments/normal_grid.hpp"

namespace scalecalc::moments {
namespace {

template <class F>
double mean_of(const NormalGrid& g, const F& f) {
  double sum = 0;
  for (std::size_t i = 0; i < g.weight.size(); ++i) sum += g.weight[i] * f(i);
  return sum;
}

double ratio(double above, double below) {
  return below > 0 && std::isfinite(above) ? above / below : 0;
}

/// q dF/dq = E F(z) (z^2 - 1)/2 for F of a Gaussian of variance q.
double log_slope(const NormalGrid& g, const std::vector<double>& values, double mean) {
  return ratio(mean_of(g, [&](std::size_t i) { return values[i] * (g.z[i] * g.z[i] - 1) / 2; }),
               mean);
}

/// q^2 d^2F/dq^2 = E F(z) He4(z)/4.
double log_curvature(const NormalGrid& g, const std::vector<double>& values, double mean) {
  return ratio(mean_of(g,
                       [&](std::size_t i) {
                         const double z2 = g.z[i] * g.z[i];
                         return values[i] * (z2 * z2 - 6 * z2 + 3) / 4;
                       }),
               mean);
}

double skew_of(const NormalGrid& g, const std::vector<double>& values, double second) {
  const double mean = mean_of(g, [&](std::size_t i) { return values[i]; });
  const double third = mean_of(g, [&](std::size_t i) {
    const double off = values[i] - mean;
    return off * off * off;
  });
  const double variance = second - mean * mean;
  return variance > 0 ? ratio(third, variance * std::sqrt(variance)) : 0;
}

/// E F(z) He3(z)/6 over E F.
double skew_slope(const NormalGrid& g, const std::vector<double>& values, double mean) {
  return ratio(
      mean_of(g, [&](std::size_t i) { return values[i] * g.z[i] * (g.z[i] * g.z[i] - 3) / 6; }),
      mean);
}

/// E F(u)G(v) = sum of products of the Hermite coefficients, times c^n; what they leave of E F G
/// goes last.
std::array<double, 14> series_of(const NormalGrid& g, const std::vector<double>& f,
                                 const std::vector<double>& other) {
  std::array<double, 14> products{};
  std::vector<double> before(g.z.size(), 0.0), now(g.z.size(), 1.0);
  double rest = mean_of(g, [&](std::size_t i) { return f[i] * other[i]; });
  for (std::size_t n = 0; n + 1 < products.size(); ++n) {
    const double a = mean_of(g, [&](std::size_t i) { return f[i] * now[i]; });
    const double b =
        &f == &other ? a : mean_of(g, [&](std::size_t i) { return other[i] * now[i]; });
    products[n] = a * b;
    rest -= products[n];
    // Normalised: h_{n+1} = (z h_n - sqrt(n) h_{n-1})/sqrt(n+1).
    const double below = std::sqrt(static_cast<double>(n)), above = std::sqrt(n + 1.0);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const double next = (g.z[i] * now[i] - below * before[i]) / above;
      before[i] = now[i];
      now[i] = next;
    }
  }
  products.back() = &f == &other ? std::max(rest, 0.0) : rest;
  return products;
}
std::array<double, 14> series_of(const NormalGrid& g, const std::vector<double>& values) {
  return series_of(g, values, values);
}

/// Relative to E phi^2: below it a pair's mean is rounding.
constexpr double least_pair = 1e-6;

double power_sum(const std::array<double, 14>& coefficients, double x) {
  double sum = 0;
  for (std::size_t n = coefficients.size(); n-- > 0;) sum = sum * x + coefficients[n];
  return sum;
}

}  // namespace

namespace {
/// sum over n >= 1 of n series[n] c^n: the derivative in ln c.
double log_slope(const std::array<double, 14>& series, double correlation) {
  double sum = 0;
  for (std::size_t n = series.size() - 1; n >= 1; --n)
    sum = (sum + static_cast<double>(n) * series[n]) * correlation;
  return sum;
}
}  // namespace

WidthMoments::Lean WidthMoments::lean(double correlation) const {
  const double pair = power_sum(pair_series, correlation);
  if (!(pair > least_pair * second)) return {};
  return {power_sum(third_series, correlation) / (second * pair) - 1,
          power_sum(rise_series, correlation) / pair, log_slope(pair_series, correlation) / pair};
}

WidthMoments::Lean WidthMoments::centred_lean(double correlation) const {
  const double pair = power_sum(pair_series, correlation) - pair_series[0];
  if (!(pair > least_pair * second)) return {};
  return {power_sum(centred_third_series, correlation) / (variance * pair) - 1,
          (power_sum(rise_series, correlation) - rise_series[0]) / pair,
          log_slope(pair_series, correlation) / pair};
}

double WidthMoments::own_pair(double correlation) const {
  return power_sum(own, correlation);
}

double WidthMoments::input_slope_pair(double correlation) const {
  return power_sum(input_slope, correlation);
}

double WidthMoments::covariance(double correlation) const {
  double sum = 0;
  for (std::size_t n = series.size() - 1; n >= 1; --n) sum = (sum + series[n]) * correlation;
  return sum;
}

namespace {

/// phi and phi' on the grid, and what the averages of their squares are made of.
struct Sampled {
  NormalGrid grid;
  std::vector<double> f, h;  ///< phi, phi'
  Sampled(const Activation& activation, double mean, double variance)
      : grid(normal_grid(activation, mean, std::sqrt(variance))) {
    std::vector<double> at(grid.z.size());
    f.resize(at.size());
    h.resize(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = mean + std::sqrt(variance) * grid.z[i];
    activation.evaluate(at.data(), f.data(), h.data(), at.size());
  }
  double power(const std::vector<double>& values, int half) const {
    return mean_of(grid, [&](std::size_t i) {
      const double square = values[i] * values[i];
      return half == 1 ? square : half == 2 ? square * square : square * square * square;
    });
  }
};

SizeMoments sizes_of(const Sampled& at) {
  SizeMoments s;
  s.second = at.power(at.f, 1);
  s.slope = at.power(at.h, 1);
  // At least 1 each; of what is 0 everywhere (a dead unit) as of a constant.
  const auto relative = [](double moment, double power) {
    return power > 0 ? std::max(ratio(moment, power), 1.0) : 1.0;
  };
  s.kurtosis = relative(at.power(at.f, 2), s.second * s.second);
  s.slope_kurtosis = relative(at.power(at.h, 2), s.slope * s.slope);
  s.third = relative(at.power(at.f, 3), s.second * s.second * s.second) - 3 * s.kurtosis + 2;
  s.slope_sixth = relative(at.power(at.h, 3), s.slope * s.slope * s.slope);
  return s;
}

/// What phi has about its mean, and what phi^2 has in common with phi(u)phi(v).
void add_leans(const Sampled& at, WidthMoments& w, double deviation) {
  const double mean = mean_of(at.grid, [&](std::size_t i) { return at.f[i]; });
  const double rise = mean_of(
      at.grid, [&](std::size_t i) { return at.f[i] * (at.grid.z[i] * at.grid.z[i] - 1) / 2; });
  const double grown = mean_of(at.grid, [&](std::size_t i) {
    return at.f[i] * at.f[i] * (at.grid.z[i] * at.grid.z[i] - 1) / 2;
  });
  w.mean_curvature = mean_of(at.grid, [&](std::size_t i) {
    const double z2 = at.grid.z[i] * at.grid.z[i];
    return at.f[i] * (z2 * z2 - 6 * z2 + 3) / 4;
  });
  w.variance = std::max(w.second - mean * mean, 0.0);
  w.variance_exponent = ratio(grown - 2 * mean * rise, w.variance);
  std::vector<double> cubes = at.f, rises = at.h, centred = at.f;
  for (std::size_t i = 0; i < cubes.size(); ++i) {
    cubes[i] *= at.f[i] * at.f[i];
    rises[i] *= deviation * at.grid.z[i] / 2;
    centred[i] -= mean;
  }
  w.centred_kurtosis = std::max(
      ratio(
          mean_of(at.grid,
                  [&](std::size_t i) { return centred[i] * centred[i] * centred[i] * centred[i]; }),
          w.variance * w.variance),
      1.0);
  for (double& value : centred) value *= value * value;
  w.pair_series = series_of(at.grid, at.f);
  w.third_series = series_of(at.grid, cubes, at.f);
  w.rise_series = series_of(at.grid, rises, at.f);
  w.centred_third_series = series_of(at.grid, centred, at.f);
  w.centred_third_series[0] = 0;
}

}  // namespace

SizeMoments size_moments(const Activation& activation, double mean, double variance) {
  return sizes_of(Sampled(activation, mean, variance));
}

WidthMoments width_moments(const Activation& activation, double mean, double variance) {
  const Sampled at(activation, mean, variance);
  WidthMoments w;
  static_cast<SizeMoments&>(w) = sizes_of(at);
  add_leans(at, w, std::sqrt(variance));
  std::vector<double> own = at.f, input_slope = at.h, f = at.f, h = at.h;
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i] *= h[i];
    input_slope[i] *= std::sqrt(variance) * at.grid.z[i];
    f[i] *= f[i];
    h[i] *= h[i];
  }
  w.own = series_of(at.grid, own);
  w.input_slope = series_of(at.grid, input_slope);
  w.exponent = log_slope(at.grid, f, w.second);
  w.skew = skew_of(at.grid, at.f, w.second);
  w.skew_effect = skew_slope(at.grid, f, w.second);
  w.curvature = log_curvature(at.grid, f, w.second);
  w.slope_exponent = log_slope(at.grid, h, w.slope);
  for (double& value : f) value = ratio(value, w.second);
  w.series = series_of(at.grid, f);
  w.series[0] = 0;
  return w;
}

}  // namespace scalecalc::moments
