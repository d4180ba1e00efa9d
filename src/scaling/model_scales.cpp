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

ScalingSolution solve_stack(ModelSpec& spec, const std::optional<Constraint>& constraint) {
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

/// What is open of `scale` is taken from the solved stack, its depth under `symbol`.
void take(std::optional<Expr>& scale, const std::optional<Expr>& before, const Expr& solved,
          const char* symbol) {
  if (!before) scale = substitute(solved, {{"N", Expr::symbol(symbol)}});
}

bool is_open(const ModelSpec& stack) {
  return !stack.alpha || !stack.lambda;
}

}  // namespace

bool has_open_scales(const ModelSpec& spec) {
  return is_open(spec) || (spec.encoder_decoder && is_open(decoder_of(spec)));
}

ScalingSolution solve_scales(ModelSpec& spec, const std::optional<Constraint>& constraint) {
  if (!spec.encoder_decoder) return solve_stack(spec, constraint);
  std::optional<ScalingSolution> first;
  ModelSpec encoder = encoder_of(spec), decoder = decoder_of(spec);
  const ModelSpec asked_encoder = encoder, asked_decoder = decoder;
  if (is_open(encoder)) {
    first = solve_stack(encoder, constraint);
    take(spec.alpha, asked_encoder.alpha, *encoder.alpha, "N");
    take(spec.lambda, asked_encoder.lambda, *encoder.lambda, "N");
  }
  if (is_open(decoder)) {
    const ScalingSolution second = solve_stack(decoder, constraint);
    if (!first) first = second;
    take(spec.decoder_alpha, asked_decoder.alpha, *decoder.alpha, "M");
    take(spec.decoder_lambda, asked_decoder.lambda, *decoder.lambda, "M");
  }
  if (!first)
    throw Error(ErrorKind::usage, "alpha and lambda are given, and nothing is left to solve", {},
                "let one be auto");
  return *first;
}

}  // namespace scalecalc
