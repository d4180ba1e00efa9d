#include <cmath>

#include "scaling/depth_law.hpp"

namespace scalecalc {
namespace {

/// Least squares of log value against log layers.
double log_slope(const std::vector<std::int64_t>& layers, const std::vector<double>& values) {
  double mean_x = 0, mean_y = 0, across = 0, square = 0;
  const double count = static_cast<double>(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    mean_x += std::log(static_cast<double>(layers[i])) / count;
    mean_y += std::log(values[i]) / count;
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double x = std::log(static_cast<double>(layers[i])) - mean_x;
    across += x * (std::log(values[i]) - mean_y);
    square += x * x;
  }
  return across / square;
}

/// The sum over branches at the solved lambda, with this block's kappa, of steps that go as
/// lambda^s.
double with_pair(const ScalingProblem& problem, const ScalingSolution& solution) {
  const StepLaw& law = solution.law;
  const double branch = solution.branch_weight.value;
  const double sum =
      summed_loss_change(law, branch * branch * problem.block.growth.to_double(),
                         problem.block.kappa.to_double(), problem.sublayers * problem.layers);
  return sum * std::pow(branch, law.parameter_power.to_double() * law.outer_power.to_double());
}

}  // namespace

PredictedExponents predicted_exponents(const ScalingProblem& problem,
                                       const std::vector<std::int64_t>& layers) {
  if (layers.size() < 2)
    throw Error(ErrorKind::input, "an exponent in depth needs two depths", "predicted_exponents",
                "give two or more");
  const bool by_growth = closes_by_growth(block_of(problem.placement));
  PredictedExponents result;
  std::vector<double> pair, plain;
  for (const std::int64_t depth : layers) {
    ScalingProblem at = problem;
    at.layers = depth;
    const ScalingSolution solution = solve_scaling(at);
    if (by_growth) pair.push_back(with_pair(at, solution));
    if (solution.warmup.factor) plain.push_back(1 / solution.warmup.factor->value);
  }
  if (by_growth) result.pair = log_slope(layers, pair);
  if (plain.size() == layers.size()) result.plain = log_slope(layers, plain);
  return result;
}

}  // namespace scalecalc
