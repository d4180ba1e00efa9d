#include <cmath>
#include <cstdio>
#include <scalecalc/scalecalc.hpp>

int main() {
  scalecalc::ScalingProblem problem;
  problem.layers = 1000;
  problem.optimizer = "adam";
  const scalecalc::ScalingSolution solution = scalecalc::solve_scaling(problem);
  std::printf("alpha = %s = %g\n", solution.alpha_formula.c_str(), solution.alpha.value);
  return std::fabs(solution.alpha.value - std::sqrt(2000.0)) < 1e-9 ? 0 : 1;
}
