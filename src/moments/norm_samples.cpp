#include "moments/norm_samples.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace scalecalc::moments {
namespace {

/// Integrals over t of E e^(-t X), X = sum of lambda_i z_i^2, by equal steps of ln t.
struct Inverses {
  double inverse = 0;                            ///< E 1/X
  std::array<double, 2> share{};                 ///< E x_i/X
  std::array<double, 2> taken{};                 ///< E x_i/X^2
  std::array<std::array<double, 2>, 2> twice{};  ///< E x_i x_j/X^3, i != j
};

Inverses inverses(const std::array<double, 2>& lambda, const std::array<double, 2>& count) {
  constexpr double step = 0.1, below = 40, above = 80;
  const double total = lambda[0] * count[0] + lambda[1] * count[1];
  Inverses sums;
  for (double u = -below; u < above; u += step) {
    const double t = std::exp(u) / total;
    double log_density = 0;
    std::array<double, 2> h{};
    for (std::size_t i = 0; i < 2; ++i) {
      log_density -= count[i] / 2 * std::log1p(2 * t * lambda[i]);
      h[i] = lambda[i] / (1 + 2 * t * lambda[i]);
    }
    const double weight = step * t * std::exp(log_density);
    sums.inverse += weight;
    for (std::size_t i = 0; i < 2; ++i) {
      sums.share[i] += weight * h[i];
      sums.taken[i] += weight * t * h[i];
      for (std::size_t j = 0; j < 2; ++j) sums.twice[i][j] += weight * t * t / 2 * h[i] * h[j];
    }
  }
  return sums;
}

}  // namespace

SampleLevels sample_levels(const Alike<double>& x, const Counts& counts) {
  // Of one sequence the second has it all, where a difference would be rounded.
  if (counts.batch == 1 && counts.tokens > 1)
    return {x.second * counts.tokens / (counts.tokens - 1), 0};
  // Variances: where one is 0 (between sequences behind an instancenorm), rounding may leave less.
  return {std::max(x.second - x.cross, 0.0),
          std::max(x.second + (counts.tokens - 1) * x.cross - counts.tokens * x.between, 0.0)};
}

Alike<double> shift_to_levels(const Alike<double>& x, const SampleLevels& levels,
                              const Counts& counts) {
  const double between = levels.between / counts.batch;
  const double second =
      ((counts.tokens - 1) * levels.within + (counts.batch - 1) * between) / counts.tokens;
  return {0, second - x.second, second - levels.within - x.cross,
          counts.batch > 1 ? -between / counts.tokens - x.between : 0};
}

SampleLevels SampleOrders::back(const SampleLevels& g, double along) const {
  const double across = (1 - along) * inverse;
  return {
      along * (to_within.within * g.within + to_within.between * g.between) + across * g.within,
      along * (to_between.within * g.within + to_between.between * g.between) + across * g.between};
}

double size_variance(const SampleLevels& levels, const Counts& counts, double map_overlap) {
  const double within = counts.batch * (counts.tokens - 1), between = counts.batch - 1;
  const double total = within * levels.within + between * levels.between,
               squares = within * levels.within * levels.within +
                         between * levels.between * levels.between;
  return squares > 0 ? 2 / (1 / (squares / (total * total) + map_overlap) + 2) : 0;
}

/// The integral over t of E e^(-t |x|^2), by equal steps of ln t.
double inverse_of_levels(const std::vector<SampleLevel>& levels) {
  constexpr double step = 0.1, below = 40, above = 80;
  double total = 0, sum = 0;
  for (const SampleLevel& level : levels) total += level.count * level.variance;
  if (!(total > 0)) return 1;
  for (double u = -below; u < above; u += step) {
    double exponent = u;
    for (const SampleLevel& level : levels)
      exponent -= level.count / 2 * std::log1p(2 * std::exp(u) * level.variance / total);
    sum += step * std::exp(exponent);
  }
  return sum;
}

SampleOrders sample_orders(const SampleLevels& levels, const Counts& counts, double share) {
  const std::array<double, 2> lambda{levels.within, levels.between};
  const std::array<double, 2> count{counts.batch * (counts.tokens - 1), counts.batch - 1};
  const double total = lambda[0] * count[0] + lambda[1] * count[1];
  SampleOrders orders;
  if (!(total > 0)) return orders;
  const Inverses of = inverses(lambda, count);
  const double inflation = total * of.inverse, kept = (1 + share * (inflation - 1)) / inflation;
  std::array<std::array<double, 2>, 2> back{};
  for (std::size_t i = 0; i < 2; ++i) {
    back[i][i] = of.inverse - 2 * of.taken[i] + 2 * of.twice[i][i];
    for (std::size_t j = 0; j < 2; ++j) back[i][j] += count[j] * of.twice[i][j];
    for (double& entry : back[i]) entry *= total * kept;
  }
  const bool one_level = count[1] * lambda[1] == 0;  // whose share of s^2 is all
  const auto forward = [&](std::size_t i) {
    return lambda[i] > 0 && !one_level ? 1 + share * (total * of.share[i] / lambda[i] - 1) : 1;
  };
  orders.forward = {forward(0), forward(1)};
  orders.inverse = inflation * kept;
  orders.to_within = {back[0][0], back[0][1]};
  orders.to_between = {back[1][0], back[1][1]};
  return orders;
}

}  // namespace scalecalc::moments
