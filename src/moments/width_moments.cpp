#include "moments/width_moments.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace scalecalc::moments {
namespace {

/// Equal steps are spectrally accurate for smooth integrands, second order at kinks.
struct Grid {
  static constexpr double reach = 10, step = 0.04;
  std::vector<double> z, weight;
  Grid() {
    double total = 0;
    for (double at = -reach; at <= reach + step / 2; at += step) {
      z.push_back(at);
      weight.push_back(std::exp(-at * at / 2));
      total += weight.back();
    }
    for (double& w : weight) w /= total;
  }
};

const Grid& grid() {
  static const Grid made;
  return made;
}

template <class F>
double mean_of(const F& f) {
  const Grid& g = grid();
  double sum = 0;
  for (std::size_t i = 0; i < g.z.size(); ++i) sum += g.weight[i] * f(i);
  return sum;
}

double ratio(double above, double below) {
  return below > 0 && std::isfinite(above) ? above / below : 0;
}

/// q dF/dq = E F(z) (z^2 - 1)/2 for F of a Gaussian of variance q.
double log_slope(const std::vector<double>& values, double mean) {
  const Grid& g = grid();
  return ratio(mean_of([&](std::size_t i) { return values[i] * (g.z[i] * g.z[i] - 1) / 2; }), mean);
}

/// q^2 d^2F/dq^2 = E F(z) He4(z)/4.
double log_curvature(const std::vector<double>& values, double mean) {
  const Grid& g = grid();
  return ratio(mean_of([&](std::size_t i) {
                 const double z2 = g.z[i] * g.z[i];
                 return values[i] * (z2 * z2 - 6 * z2 + 3) / 4;
               }),
               mean);
}

double skew_of(const std::vector<double>& values, double second) {
  const double mean = mean_of([&](std::size_t i) { return values[i]; });
  const double third = mean_of([&](std::size_t i) {
    const double off = values[i] - mean;
    return off * off * off;
  });
  const double variance = second - mean * mean;
  return variance > 0 ? ratio(third, variance * std::sqrt(variance)) : 0;
}

/// E F(z) He3(z)/6 over E F.
double skew_slope(const std::vector<double>& values, double mean) {
  const Grid& g = grid();
  return ratio(
      mean_of([&](std::size_t i) { return values[i] * g.z[i] * (g.z[i] * g.z[i] - 3) / 6; }), mean);
}

/// Squares of the Hermite coefficients of F; what they leave of E F^2 goes last.
std::array<double, 14> series_of(const std::vector<double>& values) {
  const Grid& g = grid();
  std::array<double, 14> squares{};
  std::vector<double> before(g.z.size(), 0.0), now(g.z.size(), 1.0);
  double rest = mean_of([&](std::size_t i) { return values[i] * values[i]; });
  for (std::size_t n = 0; n + 1 < squares.size(); ++n) {
    const double a = mean_of([&](std::size_t i) { return values[i] * now[i]; });
    squares[n] = a * a;
    rest -= squares[n];
    // Normalised: h_{n+1} = (z h_n - sqrt(n) h_{n-1})/sqrt(n+1).
    const double below = std::sqrt(static_cast<double>(n)), above = std::sqrt(n + 1.0);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const double next = (g.z[i] * now[i] - below * before[i]) / above;
      before[i] = now[i];
      now[i] = next;
    }
  }
  squares.back() = std::max(rest, 0.0);
  return squares;
}

double power_sum(const std::array<double, 14>& coefficients, double x) {
  double sum = 0;
  for (std::size_t n = coefficients.size(); n-- > 0;) sum = sum * x + coefficients[n];
  return sum;
}

}  // namespace

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

WidthMoments width_moments(const Activation& activation, double mean, double variance) {
  const Grid& g = grid();
  std::vector<double> at(g.z.size()), f(g.z.size()), h(g.z.size());
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = mean + std::sqrt(variance) * g.z[i];
  activation.evaluate(at.data(), f.data(), h.data(), at.size());
  WidthMoments w;
  std::vector<double> own(at.size()), input_slope(at.size()), value(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    own[i] = f[i] * h[i];
    value[i] = f[i];
    input_slope[i] = (at[i] - mean) * h[i];
    f[i] *= f[i];
    h[i] *= h[i];
  }
  w.own = series_of(own);
  w.input_slope = series_of(input_slope);
  const double second = mean_of([&](std::size_t i) { return f[i]; });
  const double slope = mean_of([&](std::size_t i) { return h[i]; });
  w.exponent = log_slope(f, second);
  w.skew = skew_of(value, second);
  w.skew_effect = skew_slope(f, second);
  w.curvature = log_curvature(f, second);
  w.slope_exponent = log_slope(h, slope);
  w.kurtosis = ratio(mean_of([&](std::size_t i) { return f[i] * f[i]; }), second * second);
  w.slope_kurtosis = ratio(mean_of([&](std::size_t i) { return h[i] * h[i]; }), slope * slope);
  const double sixth =
      ratio(mean_of([&](std::size_t i) { return f[i] * f[i] * f[i]; }), second * second * second);
  w.third = sixth - 3 * w.kurtosis + 2;
  for (double& square : f) square = ratio(square, second);
  w.series = series_of(f);
  w.series[0] = 0;
  return w;
}

}  // namespace scalecalc::moments
