#include "scalecalc/scaling.hpp"

namespace scalecalc {

namespace {

/// A model has no --constraint: what closes the equation is its other scale.
Error without_constraint(const Error& error, const ModelSpec& spec) {
  const bool solves_alpha = !spec.alpha.has_value();
  const std::string known =
      solves_alpha ? "lambda = " + to_string(*spec.lambda) : "alpha = " + to_string(*spec.alpha);
  const std::string open = solves_alpha ? "alpha" : "lambda";
  return {error.kind(), error.message(), open + " = auto beside " + known,
          "let both be auto (--alpha auto --lambda auto), or give " + open + " a value"};
}

}  // namespace

ScalingSolution solve_scales(ModelSpec& spec, const std::optional<Constraint>& constraint) {
  ScalingProblem problem;
  problem.layers = spec.layers;
  problem.optimizer = spec.optimizer;
  problem.placement = spec.placement;
  if (spec.cross_attention) problem.sublayers = 3;
  problem.constraint = constraint;
  if (spec.alpha) problem.constraint = Constraint{Constraint::Kind::alpha, *spec.alpha};
  if (spec.lambda) problem.constraint = Constraint{Constraint::Kind::lambda, *spec.lambda};
  const bool is_half_open = !constraint && spec.alpha.has_value() != spec.lambda.has_value();
  const ScalingSolution solution = [&] {
    try {
      return solve_scaling(problem);
    } catch (const Error& error) {
      if (is_half_open && error.where() == "--constraint") throw without_constraint(error, spec);
      throw;
    }
  }();
  if (!solution.closed_form) {
    throw Error(ErrorKind::usage, "lambda has no formula in N here: " + solution.lambda_formula,
                "optimizer " + spec.optimizer + ", placement " + to_string(spec.placement),
                "give alpha and lambda");
  }
  spec.alpha = solution.alpha.formula;
  spec.lambda = solution.lambda.formula;
  return solution;
}

}  // namespace scalecalc
