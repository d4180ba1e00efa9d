#include <algorithm>

#include "claims/library.hpp"
#include "claims/networks.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc::claims {
namespace {

/// How one block of the named model changes sizes under this placement.
BlockMoments moments_of_model(Arguments& arguments, Placement placement) {
  ModelSpec spec = arguments.engine().networks().model(arguments.text("model"));
  spec.placement = placement;
  if (arguments.has("norm")) spec.norm = norm_from(arguments.text("norm"));
  if (arguments.has("activation")) spec.activation = arguments.text("activation");
  return block_moments(spec);
}

Expr deepnorm(Arguments& arguments, const std::string& member) {
  ScalingProblem problem;
  problem.optimizer = arguments.text_or("optimizer", "adam");
  problem.placement = placement_from(arguments.text_or("placement", "post"));
  if (arguments.has("constraint"))
    problem.constraint = Constraint::parse(arguments.text("constraint"));
  if (arguments.has("sublayers")) problem.sublayers = arguments.integer("sublayers");
  if (arguments.has("model")) problem.block = moments_of_model(arguments, problem.placement);
  const Expr layers = arguments.expr("layers");
  if (layers.is_number()) problem.layers = arguments.integer("layers");
  const ScalingSolution solution = solve_scaling(problem);
  if (!solution.closed_form && member == "lambda") {
    if (arguments.engine().is_symbolic() || !layers.is_number())
      throw NotApplicable{"lambda solves an equation without a formula"};
    return arguments.engine().leaf(solution.lambda.value, 1e-14 * solution.lambda.value);
  }
  const std::vector<std::pair<std::string, Expr>> formulas = {
      {"alpha", solution.alpha.formula},
      {"lambda", solution.lambda.formula},
      {"branch_weight", solution.branch_weight.formula},
      {"branch_sum", solution.branch_sum.formula},
      {"gradient_scale", solution.gradient_scale.formula},
      {"relative_step", solution.relative_step_scale.formula}};
  if (member == "warmup") {
    if (!solution.warmup.factor) throw NotApplicable{"no warm-up: " + solution.warmup.why_none};
    return arguments.in_scope(solution.warmup.factor->formula, {{"N", layers}});
  }
  for (const auto& [name, formula] : formulas)
    if (name == member) return arguments.in_scope(formula, {{"N", layers}});
  return arguments.in_scope(solution.equation, {{"N", layers}});
}

Expr deepnet(Arguments& arguments, const std::string& member) {
  const Architecture architecture = architecture_from(arguments.text("arch"));
  const bool two = architecture == Architecture::encoder_decoder;
  const std::vector<PublishedPair> pairs = deepnet_rule(architecture, 12, two ? 6 : 0);
  const std::string stack = arguments.text_or("stack", pairs.front().stack);
  const auto pair = std::find_if(pairs.begin(), pairs.end(),
                                 [&](const PublishedPair& p) { return p.stack == stack; });
  if (pair == pairs.end()) {
    std::vector<std::string> stacks;
    for (const PublishedPair& known : pairs) stacks.push_back(known.stack);
    throw unknown_name("stack", stack, stacks, "");
  }
  const std::vector<std::pair<std::string, Expr>> formulas = {
      {"alpha", pair->alpha.formula},
      {"lambda", pair->lambda.formula},
      {"rederived_alpha", pair->rederived_alpha.formula},
      {"rederived_lambda", pair->rederived_lambda.formula},
      {"ratio", pair->ratio.formula}};
  const auto wanted = std::find_if(formulas.begin(), formulas.end(),
                                   [&](const auto& formula) { return formula.first == member; });
  return arguments.in_scope(
      wanted->second,
      {{"N", arguments.expr("layers")}, {"M", two ? arguments.expr("decoder_layers") : Expr(1)}});
}

Expr family_powers(Arguments& arguments, const std::string& member) {
  const StepLaw law = step_law(optimizer(arguments.text("optimizer")).update);
  if (member == "gradient_power") return law.gradient_power;
  if (member == "parameter_power") return law.parameter_power;
  return law.outer_power;
}

Expr size_of_step(Arguments& arguments, const std::string&) {
  return step_size(optimizer(arguments.text("optimizer")).update, arguments.expr("gradient"),
                   arguments.expr("parameter"), arguments.expr_or("matrices", 1));
}

}  // namespace

std::vector<LibraryFunction> scaling_functions() {
  return {{"deepnorm",
           {"layers", "optimizer", "placement", "constraint", "sublayers", "model", "norm",
            "activation"},
           {"alpha", "lambda", "branch_weight", "branch_sum", "gradient_scale", "relative_step",
            "warmup", "equation"},
           false,
           false,
           false,
           deepnorm},
          {"deepnet",
           {"arch", "layers", "decoder_layers", "stack"},
           {"alpha", "lambda", "rederived_alpha", "rederived_lambda", "ratio"},
           false,
           false,
           false,
           deepnet},
          {"family",
           {"optimizer"},
           {"gradient_power", "parameter_power", "outer_power"},
           false,
           false,
           false,
           family_powers},
          {"step_size",
           {"optimizer", "gradient", "parameter", "matrices"},
           {"value"},
           false,
           false,
           false,
           size_of_step}};
}

}  // namespace scalecalc::claims
