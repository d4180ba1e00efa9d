#include "steps/logit_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "steps/own_parts.hpp"

namespace scalecalc::steps {
namespace {

constexpr int kPowers = 5;

/// E g^k e^(-t g^2) of one number, k = 0 to 4.
std::array<double, kPowers> damped_moments(double t, double deviation) {
  std::array<double, kPowers> made{};
  for (const Node& node : normal_nodes<65>()) {
    const double g = std::exp(deviation * node.at);
    double term = node.weight * std::exp(-t * g * g);
    for (double& moment : made) {
      moment += term;
      term *= g;
    }
  }
  return made;
}

double power(double base, double exponent) {
  return exponent > 0 ? std::pow(base, exponent) : 1;
}

}  // namespace

/// 1/Q = Int e^(-tQ) dt, 1/Q^2 = Int t e^(-tQ) dt and Q^(1/2) = Int t^(-3/2) (1 - e^(-tQ)) dt
/// /(2 pi^(1/2)), in which the numbers of a product part.
LognormalRow lognormal_row(double count, double variance) {
  const double n = count;
  if (n <= 1 || variance <= 0) return {1, 0, 4 * std::max(variance, 0.0)};
  const double deviation = std::sqrt(variance);
  constexpr int steps = 400;
  constexpr double below = 20, above = 10, of_deviation = 16;  // of ln t, where integrands end
  const double centre = -std::log(n) - 2 * variance;
  const double h = (below + above + of_deviation * deviation + 2 * variance) / steps;
  double first = 1, second = 0, root = 0, t = 0;
  for (int i = 0; i <= steps; ++i) {
    t = std::exp(centre - below + h * i);
    const auto a = damped_moments(t, deviation);
    const double squares = a[1] * a[1];
    first += h * t * n * (n - 1) * squares * power(a[0], n - 2);
    double fourth = n * a[4] * power(a[0], n - 1) +
                    n * (n - 1) * (4 * a[3] * a[1] + 3 * a[2] * a[2]) * power(a[0], n - 2);
    if (n > 2) fourth += 6 * n * (n - 1) * (n - 2) * a[2] * squares * power(a[0], n - 3);
    if (n > 3) fourth += n * (n - 1) * (n - 2) * (n - 3) * squares * squares * power(a[0], n - 4);
    second += h * t * t * fourth;
    root += h / std::sqrt(t) * (1 - power(a[0], n)) / 2;
  }
  root = (root + 1 / std::sqrt(t)) * std::numbers::inv_sqrtpi;  // beyond the last t
  LognormalRow made;
  made.along = std::min(first / n, 1.0);
  made.along_deviation = std::sqrt(std::max(second / (n * n) - made.along * made.along, 0.0));
  // E Q^(1/2) of a lognormal Q is (E Q)^(1/2) e^(-variance/8).
  made.log_variance = std::max(8 * (std::log(n) / 2 + variance - std::log(root)), 0.0);
  return made;
}

std::vector<GradientRow> rows_of_others(double count, double own, double shared) {
  const LognormalRow row = lognormal_row(count, own);
  const double spread = row.log_variance + 4 * shared;
  std::vector<GradientRow> made;
  for (const double side : {-1.0, 1.0})
    for (const Node& node : normal_nodes<9>())
      made.push_back({node.weight / 2, std::exp(std::sqrt(spread) * node.at - spread / 2),
                      std::clamp(row.along + side * row.along_deviation, 1 / count, 1.0)});
  return made;
}

/// S = N/classes - k and Q = k (1 - 2/classes) + N E p^2 of k targets, a binomial number.
std::vector<GradientRow> rows_of_targets(double count, double classes, double square, double all) {
  const double expected = count / classes;
  constexpr double few = 4;
  if (expected > few) return {};
  struct Targets {
    double chance, sum, square;
  };
  std::vector<Targets> targets;
  const double none = std::pow(1 - 1 / classes, count);
  double chance = none, squares = 0, sums = 0;
  const auto most =
      static_cast<int>(std::min(count, std::ceil(expected + 6 * std::sqrt(expected) + 3)));
  for (int k = 1; k <= most; ++k) {
    chance *= (count - k + 1) / k / (classes - 1);
    targets.push_back({chance / (1 - none), expected - k, k * (1 - 2 / classes) + count * square});
    squares += targets.back().chance * targets.back().square;
    sums += targets.back().chance * targets.back().sum * targets.back().sum / count;
  }
  // What the samples' p vary by together.
  const double deviation = std::sqrt(std::max(all - sums, 0.0) * count);
  std::vector<GradientRow> made;
  for (const Targets& of : targets)
    for (const Node& node : normal_nodes<9>()) {
      const double sum = of.sum + deviation * node.at;
      made.push_back({of.chance * node.weight, of.square / squares,
                      std::min(sum * sum / (count * of.square), 1.0)});
    }
  return made;
}

}  // namespace scalecalc::steps
