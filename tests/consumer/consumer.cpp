// What a user of the installed library writes: one result, checked by the exit code.
#include <cmath>

#include "scalecalc/scalecalc.hpp"

int main() {
  scalecalc::ScalingProblem problem;
  problem.layers = 1000;
  problem.optimizer = "adam";
  const scalecalc::ScalingSolution solution = scalecalc::solve_scaling(problem);
  return std::fabs(solution.alpha.value - std::sqrt(2000.0)) < 1e-9 ? 0 : 1;
}
