#include "steps/slopes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace scalecalc::steps {
namespace {

/// Nodes of the shared part, and of what a sample has of its own; the finer steps meet kinks.
constexpr int kShared = 17, kOwn = 129;
constexpr double kReach = 6;

std::vector<double> normal_weights(int count) {
  std::vector<double> weights(static_cast<std::size_t>(count));
  double total = 0;
  for (int i = 0; i < count; ++i) {
    const double z = kReach * (2.0 * i / (count - 1) - 1);
    total += weights[static_cast<std::size_t>(i)] = std::exp(-z * z / 2);
  }
  for (double& weight : weights) weight /= total;
  return weights;
}
double node(int i, int count) {
  return kReach * (2.0 * i / (count - 1) - 1);
}

/// Of E f, ..., E f^4.
FeatureClass class_of(double share, double f1, double f2, double f3, double f4) {
  FeatureClass made{share, f1, std::max(f2 - f1 * f1, 0.0)};
  constexpr double kConstant = 1e-12;  // of f2, below which a variance is rounding
  if (made.variance <= kConstant * f2) return made;
  const double third = f3 - 3 * f1 * f2 + 2 * f1 * f1 * f1;
  const double fourth = f4 - 4 * f1 * f3 + 6 * f1 * f1 * f2 - 3 * f1 * f1 * f1 * f1;
  const double square = made.variance * made.variance;
  made.skewness = third / (made.variance * std::sqrt(made.variance));
  made.excess = fourth / square - 3;
  return made;
}

}  // namespace

SlopeAverages slope_averages(const Activation& activation, double mean, double variance,
                             double correlation) {
  static const std::vector<double> shared = normal_weights(kShared), own = normal_weights(kOwn);
  const double c = std::clamp(correlation, 0.0, 1.0), size = std::sqrt(std::max(variance, 0.0));
  std::array<double, kOwn> u{}, f{}, d{};
  SlopeAverages made;
  for (int i = 0; i < kShared; ++i) {
    const double at = mean + size * std::sqrt(c) * node(i, kShared);
    for (int j = 0; j < kOwn; ++j)
      u[static_cast<std::size_t>(j)] = at + size * std::sqrt(1 - c) * node(j, kOwn);
    activation.evaluate(u.data(), f.data(), d.data(), u.size());
    double d1 = 0, d2 = 0, d3 = 0, d4 = 0, f1 = 0, f2 = 0, f3 = 0, f4 = 0, d2f2 = 0;
    for (std::size_t j = 0; j < u.size(); ++j) {
      const double w = own[j], slope = d[j], square = slope * slope, value = f[j] * f[j];
      d1 += w * slope;
      d2 += w * square;
      d3 += w * square * slope;
      d4 += w * square * square;
      f1 += w * f[j];
      f2 += w * value;
      f3 += w * value * f[j];
      f4 += w * value * value;
      d2f2 += w * square * value;
    }
    const double w = shared[static_cast<std::size_t>(i)];
    made.d2 += w * d2;
    made.d3d += w * d3 * d1;
    made.d4 += w * d4;
    made.dd += w * d1 * d1;
    made.d2d2 += w * d2 * d2;
    made.d2dd += w * d2 * d1 * d1;
    made.f2 += w * f2;
    made.ff += w * f1 * f1;
    made.f4 += w * f4;
    made.d2f2 += w * d2f2;
    made.slopes.push_back({w, d2, d1 * d1, d4});
    made.features.push_back(class_of(w, f1, f2, f3, f4));
  }
  return made;
}

}  // namespace scalecalc::steps
