#include <cmath>
#include <limits>

#include "scalecalc/optimizer_mixture.hpp"
#include "scaling/depth_law.hpp"
#include "scaling/derivation.hpp"
#include "scaling/growing_stream.hpp"

namespace scalecalc {
namespace {

constexpr std::int64_t max_layers = 1000000;

/// The value at one depth; the depth goes in exactly, so that (2*N)^(1/2) is 2 at N = 2.
double value_at(const Expr& formula, const std::string& depth_symbol, std::int64_t layers,
                const Bindings& others = {}) {
  return evaluate(substitute(formula, {{depth_symbol, Expr(layers)}}), others);
}

/// Values of the symbols of a formula at one depth.
Bindings at(const ScalingSolution& solution, std::int64_t layers) {
  return {{solution.depth_symbol, static_cast<double>(layers)},
          {"alpha", solution.alpha.value},
          {"lambda", solution.lambda.value}};
}

/// A formula in alpha and lambda, with the solution put in where that has a closed form.
Scaled scaled(const Expr& formula, const ScalingSolution& solution, std::int64_t layers) {
  Scaled result;
  result.formula =
      substitute(formula, {{"alpha", solution.alpha.formula}, {"lambda", solution.lambda.formula}});
  result.value = value_at(result.formula, solution.depth_symbol, layers, at(solution, layers));
  return result;
}

MonomialSystem equations(const Setup& setup, const Constraint& constraint) {
  MonomialSystem system;
  system.unknowns = {"alpha", "lambda"};
  system.equations.push_back({setup.equation, 1});
  switch (constraint.kind) {
    case Constraint::Kind::symmetric:
      system.equations.push_back({alpha_symbol() * lambda_symbol(), 1});
      break;
    case Constraint::Kind::alpha:
      system.equations.push_back({alpha_symbol(), constraint.value});
      break;
    case Constraint::Kind::lambda:
      system.equations.push_back({lambda_symbol(), constraint.value});
      break;
  }
  if (!carries_alpha(setup.block)) system.equations.push_back({alpha_symbol(), 1});
  return system;
}

[[noreturn]] void contradiction(const Setup& setup, const Constraint& constraint,
                                const Expr& must_be_one) {
  const std::string placement = to_string(setup.block.placement);
  const std::string hint = "leave --constraint out (" +
                           default_constraint(setup.law, setup.block.placement).to_string() + ")";
  if (!carries_alpha(setup.block) && constraint.kind == Constraint::Kind::alpha)
    throw Error(ErrorKind::usage,
                "placement " + placement + " fixes alpha = 1 (" + fixed_alpha_reason(setup.block) +
                    "), which " + constraint.to_string() + " contradicts",
                "--constraint", hint);
  throw Error(ErrorKind::usage,
              "placement " + placement + " with " + constraint.to_string() + " under " +
                  setup.optimizer.name + " has no solution: " + to_string(setup.equation) +
                  " = 1 would become " + to_string(must_be_one) + " = 1",
              "--constraint", hint);
}

[[noreturn]] void open(const Setup& setup, const Constraint& constraint,
                       const std::vector<std::string>& free) {
  throw Error(ErrorKind::usage,
              "placement " + to_string(setup.block.placement) + " with " + constraint.to_string() +
                  " under " + setup.optimizer.name + " leaves " + free.front() +
                  " open: the equation " + to_string(setup.equation) + " = 1 holds for every " +
                  free.front(),
              "--constraint",
              "close it, for example with " +
                  default_constraint(setup.law, setup.block.placement).to_string());
}

struct Pair {
  Expr alpha, lambda;
};

/// NaN where the formula divides by zero at this depth.
double value_or_nan(const Expr& formula, const std::string& symbol, std::int64_t layers) {
  try {
    return value_at(formula, symbol, layers);
  } catch (const Error&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

std::optional<Pair> power_law_pair(const Setup& setup, const Constraint& constraint,
                                   bool throw_on_failure) {
  const MonomialSolution found = solve(equations(setup, constraint));
  if (found.status == MonomialSolution::Status::unique)
    return Pair{found.values.at("alpha"), found.values.at("lambda")};
  if (!throw_on_failure) return std::nullopt;
  if (found.status == MonomialSolution::Status::underdetermined)
    open(setup, constraint, found.free);
  contradiction(setup, constraint, found.contradiction);
}

void solve_growing(const Setup& setup, const Constraint& constraint, std::int64_t layers,
                   ScalingSolution& solution) {
  const std::string placement = to_string(setup.block.placement);
  if (constraint.kind != Constraint::Kind::alpha || !(constraint.value == Expr(1))) {
    throw Error(ErrorKind::usage,
                "placement " + placement + " with " + constraint.to_string() +
                    " contradicts itself: " + placement + " fixes alpha = 1 (" +
                    fixed_alpha_reason(setup.block) + ") and lambda follows from " +
                    to_string(setup.equation) + " = 1",
                "--constraint", "leave --constraint out (alpha=1)");
  }
  const double matrices = value_at(setup.matrices, solution.depth_symbol, layers);
  solution.alpha = {1, 1.0};
  solution.lambda.value = growing_stream_root(setup.law, matrices);
  const auto closed = growing_stream_lambda(setup.law, setup.matrices);
  solution.closed_form = closed.has_value();
  solution.lambda.formula = closed.value_or(lambda_symbol());
  solution.lambda_formula = closed ? to_string(*closed) : to_string(setup.equation) + " == 1";
}

void put_back(const Setup& setup, std::int64_t layers, ScalingSolution& solution) {
  solution.equation = setup.equation;
  solution.equation_value = evaluate(setup.equation, at(solution, layers));
  solution.branch_weight = scaled(branch_size(setup.block), solution, layers);
  const Expr weight = branch_size(setup.block);
  solution.branch_sum = scaled(setup.matrices * weight * weight, solution, layers);
  solution.gradient_scale = scaled(setup.gradient, solution, layers);
  solution.relative_step_scale = scaled(setup.relative_step, solution, layers);
}

/// Who steps what in a problem: one optimizer, or two that share the parameters.
class Steppers {
 public:
  explicit Steppers(Optimizer optimizer) : optimizer_(std::move(optimizer)) {
    for (const char* role : {"v", "o", "ffn_in", "ffn_out"}) add(role);
    // They have a gain of 1 and small gradients: named where they are all that one of them steps.
    if (is_first("q") == is_first("k") && !matrices(is_first("q")).empty()) return;
    for (const char* role : {"q", "k"}) add(role);
  }

  bool is_mixture() const { return optimizer_.rest.has_value(); }
  bool is_first(const char* role, bool is_matrix = true) const {
    return !is_mixture() || steps_first(optimizer_.rest->first_roles, role, is_matrix);
  }
  /// Whether both step matrices inside branches.
  bool share_branches() const { return !first_.empty() && !second_.empty(); }
  /// The matrices inside branches that one of them steps: "ffn_in, ffn_out".
  const std::string& matrices(bool of_first) const { return of_first ? first_ : second_; }
  /// One of the two alone.
  Optimizer alone(bool the_first) const {
    return optimizer(the_first ? read_mixture(optimizer_.name, "optimizer")->first
                               : optimizer_.rest->name);
  }
  /// What steps all matrices inside branches, where one does.
  Optimizer of_branches() const { return first_.empty() ? alone(false) : optimizer_; }

 private:
  void add(const char* role) {
    std::string& list = is_first(role) ? first_ : second_;
    list += list.empty() ? role : std::string(", ") + role;
  }

  Optimizer optimizer_;
  std::string first_, second_;
};

/// Of a mixture, what stands outside the branches' matrices: docs/theory/scaling.md#mixtures. What
/// reads or makes the stream itself has a gradient of its size, since all branches together are not
/// larger than it.
std::vector<RestStep> rest_steps(const Setup& setup, const Steppers& steppers,
                                 const ScalingSolution& solution, std::int64_t layers) {
  std::vector<RestStep> steps;
  if (!steppers.is_mixture()) return steps;
  const auto add = [&](const char* parameters, bool by_first, const Expr& gradient) {
    // The norm over all gradients: of the matrices, and of one as large as the stream.
    const Expr matrices =
        (setup.matrices * setup.gradient * setup.gradient + 1) / (gradient * gradient);
    const Optimizer by = steppers.alone(by_first);
    steps.push_back({parameters, by.name, !by_first, scaled(gradient, solution, layers),
                     scaled(step_size(by.update, gradient, 1, matrices), solution, layers)});
  };
  const bool embedding = steppers.is_first("embedding"), head = steppers.is_first("head");
  add(embedding == head ? "embedding, head" : "embedding", embedding, 1);
  if (embedding != head) add("head", head, 1);
  for (const Expr& gradient : gain_gradient_sizes(setup.block))
    add("norm gains", steppers.is_first("norm", false), gradient);
  return steps;
}

/// The inverse of the loss change at alpha = lambda = 1.
WarmUp warm_up(const Setup& setup, const std::string& depth_symbol, std::int64_t layers) {
  WarmUp result;
  result.why_none = why_explosive(setup.block, setup.moments);
  if (!result.why_none.empty()) return result;
  result.loss_change =
      plain_loss_change(setup.law, setup.block, setup.moments, setup.sublayers, setup.depth);
  const Expr factor = 1 / result.loss_change;
  const double value = value_at(factor, depth_symbol, layers);
  const Expr exponent =
      differentiate(result.loss_change, depth_symbol) * setup.depth / result.loss_change;
  result.exponent = value_at(exponent, depth_symbol, layers);
  if (!(value > 0) || !std::isfinite(result.exponent)) {
    result.why_none = "the loss change at this depth is past the largest number";
    return result;
  }
  result.factor = Scaled{factor, value};
  result.spread =
      loss_change_spread(setup.law, setup.block, setup.moments, static_cast<double>(layers));
  return result;
}

/// The other closures of the same equation.
std::vector<Alternative> other_pairs(const Setup& setup, const ScalingSolution& chosen,
                                     std::int64_t layers) {
  std::vector<Alternative> result;
  if (!carries_alpha(setup.block)) return result;
  const std::vector<Constraint> closures = {
      {}, {Constraint::Kind::alpha, 1}, {Constraint::Kind::lambda, 1}};
  for (const Constraint& closure : closures) {
    const auto pair = power_law_pair(setup, closure, false);
    if (!pair || (pair->alpha == chosen.alpha.formula && pair->lambda == chosen.lambda.formula))
      continue;
    ScalingSolution other = chosen;
    other.alpha = {pair->alpha, 0};
    other.lambda = {pair->lambda, 0};
    for (Scaled* side : {&other.alpha, &other.lambda})
      side->value = value_at(side->formula, chosen.depth_symbol, layers);
    put_back(setup, layers, other);
    result.push_back({closure.to_string(), other.alpha, other.lambda, other.relative_step_scale,
                      other.branch_sum});
  }
  return result;
}

Setup set_up(const ScalingProblem& problem, Optimizer rule) {
  Setup setup;
  setup.optimizer = std::move(rule);
  setup.law = step_law(setup.optimizer.update);
  setup.block = block_of(problem.placement);
  setup.moments = problem.block;
  setup.depth = Expr::symbol(problem.depth_symbol);
  setup.sublayers = problem.sublayers;
  setup.matrices = Expr(problem.sublayers) * setup.depth;
  setup.gradient = gradient_size(setup.block, 1);
  setup.equation = closes_by_growth(setup.block)
                       ? growing_stream_equation(setup.law, setup.matrices)
                       : setup.matrices * pow(setup.gradient, setup.law.gradient_power) *
                             pow(lambda_symbol(), setup.law.parameter_power);
  setup.relative_step =
      step_size(setup.optimizer.update, setup.gradient, lambda_symbol(), setup.matrices) /
      lambda_symbol();
  return setup;
}

struct Solved {
  Setup setup;
  ScalingSolution solution;
};

/// The pair under which the matrices that this rule steps change the loss by 1 together.
Solved solve_pair(const ScalingProblem& problem, Optimizer rule) {
  Solved solved{set_up(problem, std::move(rule)), {}};
  const Setup& setup = solved.setup;
  ScalingSolution& solution = solved.solution;
  solution.family = family_name(setup.optimizer);
  solution.law = setup.law;
  solution.depth_symbol = problem.depth_symbol;
  solution.constraint =
      problem.constraint.value_or(default_constraint(setup.law, problem.placement));
  if (closes_by_growth(setup.block)) {
    solve_growing(setup, solution.constraint, problem.layers, solution);
  } else {
    const Pair pair = *power_law_pair(setup, solution.constraint, true);
    solution.alpha.formula = pair.alpha;
    solution.lambda.formula = pair.lambda;
    solution.lambda_formula = to_string(pair.lambda);
    solution.alpha.value = value_or_nan(pair.alpha, problem.depth_symbol, problem.layers);
    solution.lambda.value = value_or_nan(pair.lambda, problem.depth_symbol, problem.layers);
  }
  solution.alpha_formula = to_string(solution.alpha.formula);
  for (const double value : {solution.alpha.value, solution.lambda.value}) {
    if (!(value > 0) || !std::isfinite(value))
      throw Error(ErrorKind::input,
                  "the constraint " + solution.constraint.to_string() +
                      " does not give positive finite alpha and lambda at " + problem.depth_symbol +
                      " = " + std::to_string(problem.layers),
                  "--constraint", "use a formula that is positive there");
  }
  put_back(setup, problem.layers, solution);
  solution.warmup = warm_up(setup, problem.depth_symbol, problem.layers);
  return solved;
}

/// The loss change by the matrices of this setup's rule at that pair.
Scaled loss_change(const Setup& setup, const ScalingSolution& pair, std::int64_t layers) {
  return scaled(pow(setup.equation, setup.law.outer_power), pair, layers);
}

/// Where both optimizers step matrices inside branches: the pair of one under which the other
/// changes the loss least. That is at most 1, but where the stream's growth closes the equation:
/// there larger branches make one change smaller and the other larger, and no pair may bound both.
Solved solve_shared(const ScalingProblem& problem, const Steppers& steppers) {
  Solved first = solve_pair(problem, steppers.alone(true));
  Solved second = solve_pair(problem, steppers.alone(false));
  const double by_second = loss_change(second.setup, first.solution, problem.layers).value;
  const bool is_second =
      loss_change(first.setup, second.solution, problem.layers).value < by_second;
  Solved& solved = is_second ? second : first;
  const Solved& other = is_second ? first : second;
  const WarmUp& beside = other.solution.warmup;
  if (solved.solution.warmup.factor && beside.factor &&
      beside.factor->value < solved.solution.warmup.factor->value)
    solved.solution.warmup = beside;
  RestStep step{steppers.matrices(is_second), other.setup.optimizer.name, !is_second,
                solved.solution.gradient_scale,
                scaled(other.setup.relative_step, solved.solution, problem.layers)};
  step.loss_change = loss_change(other.setup, solved.solution, problem.layers);
  solved.solution.rest.push_back(std::move(step));
  return std::move(solved);
}

}  // namespace

ScalingSolution solve_scaling(const ScalingProblem& problem) {
  if (problem.layers < 1 || problem.layers > max_layers)
    throw Error(ErrorKind::input,
                "layers must be from 1 to " + std::to_string(max_layers) + " (got " +
                    std::to_string(problem.layers) + ")",
                "--layers", "for example --layers 12");
  const Steppers steppers(optimizer(problem.optimizer));
  Solved solved = steppers.share_branches() ? solve_shared(problem, steppers)
                                            : solve_pair(problem, steppers.of_branches());
  const Setup& setup = solved.setup;
  ScalingSolution& solution = solved.solution;
  for (RestStep& step : rest_steps(setup, steppers, solution, problem.layers))
    solution.rest.push_back(std::move(step));
  solution.alternatives = other_pairs(setup, solution, problem.layers);
  solution.conditions = conditions(setup, solution, problem.layers);
  solution.derivation = derivation(setup, solution);
  return std::move(solution);
}

}  // namespace scalecalc
