#include <fmt/format.h>

#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <functional>

#include "scalecalc/moments.hpp"
#include "scaling/block.hpp"
#include "scaling/gains/expectation.hpp"

namespace scalecalc {
namespace {

/// Past a factor of e^20 of the power law nothing of its argument is left.
constexpr double kFarthest = 20;

struct Pair {
  double alpha = 1, lambda = 1;
};

/// One equation in one unknown: ln of a multiple of the power law's pair along the constraint.
class Equation {
 public:
  Equation(const ModelSpec& spec, const ScalingProblem& problem, const ScalingSolution& law)
      : spec_(spec), optimizer_(optimizer(problem.optimizer)), law_(law) {}

  Pair pair_at(double log_step) const {
    const double factor = std::exp(log_step);
    Pair pair{law_.alpha.value, law_.lambda.value};
    switch (law_.constraint.kind) {
      case Constraint::Kind::symmetric:
        pair.lambda *= factor;
        pair.alpha /= factor;
        break;
      case Constraint::Kind::alpha: pair.lambda *= factor; break;
      case Constraint::Kind::lambda: pair.alpha /= factor; break;
    }
    return pair;
  }

  ExactPoint point(std::int64_t layers, const Pair& pair) {
    ModelSpec spec = spec_;
    spec.layers = layers;
    const bool ramped = spec.placement == Placement::branchnorm;
    spec.alpha = ramped ? Expr(1) : Expr(Rational::shortest(pair.alpha));
    if (ramped) spec.ramp = 1 / pair.alpha;
    spec.lambda = Expr(Rational::shortest(pair.lambda));
    network_ = build_network(spec);
    trace_ = propagate(network_);
    ++propagations_;
    const double change =
        predicted_step(network_, trace_, optimizer_.update, false, optimizer_.rest).delta_loss;
    return {layers, pair.alpha, pair.lambda, change};
  }

  std::vector<ShapeFactor> shapes() const { return shape_factors(network_, optimizer_.update); }
  const std::vector<Premise>& assumptions() const { return trace_.assumptions; }
  int propagations() const { return propagations_; }

 private:
  const ModelSpec& spec_;
  Optimizer optimizer_;
  const ScalingSolution& law_;
  Network network_;  ///< of the last point
  Trace trace_;
  int propagations_ = 0;
};

struct Bracket {
  double low = 0, high = 0, at_low = 0, at_high = 0;
};

[[noreturn]] void no_pair(const ScalingSolution& law, double least, double most) {
  throw Error(ErrorKind::unsolvable,
              fmt::format("no pair under {} has the loss change of the reference depth: within a "
                          "factor e^{} of the power law it is {:.3g} to {:.3g} times that",
                          law.constraint.to_string(), kFarthest, std::exp(least), std::exp(most)),
              "--method exact", "use another constraint, or --method scaling");
}

/// The nearest change of sign around 0, looked for outwards on both sides.
Bracket bracket(const std::function<double(double)>& f, const ScalingSolution& law) {
  const double centre = f(0);
  Bracket up{0, 0, centre, centre}, down = up;
  double least = centre, most = centre;
  for (double reach = 0.125; reach <= kFarthest; reach *= 1.6) {
    const auto look = [&](Bracket& side, double x) {
      const double value = f(x);
      if (!std::isfinite(value)) return false;
      least = std::min(least, value);
      most = std::max(most, value);
      side = {side.high, x, side.at_high, value};
      return std::signbit(side.at_low) != std::signbit(side.at_high);
    };
    if (look(up, reach)) return up;
    if (look(down, -reach)) return {down.high, down.low, down.at_high, down.at_low};
  }
  no_pair(law, least, most);
}

/// ln of the loss change against the reference, NaN where the moments overflow.
double log_ratio(Equation& equation, std::int64_t layers, double log_step, double reference) {
  try {
    return std::log(equation.point(layers, equation.pair_at(log_step)).delta_loss / reference);
  } catch (const Error&) {
    if (log_step == 0) throw;
    return std::nan("");
  }
}

double root(const std::function<double(double)>& f, const ScalingSolution& law) {
  if (f(0) == 0) return 0;
  const Bracket found = bracket(f, law);
  std::uintmax_t iterations = 60;
  const auto ends =
      boost::math::tools::toms748_solve(f, found.low, found.high, found.at_low, found.at_high,
                                        boost::math::tools::eps_tolerance<double>(40), iterations);
  return 0.5 * (ends.first + ends.second);
}

/// The sizes of the power law's argument, at the solved pair.
void put_sizes(const ScalingProblem& problem, ExactSolution& solution) {
  const Block block = block_of(problem.placement);
  const Expr gradient = gradient_size(block, 1);
  const Expr matrices = Expr(problem.sublayers) * Expr(problem.layers);
  const Expr step =
      step_size(optimizer(problem.optimizer).update, gradient, lambda_symbol(), matrices);
  const Bindings pair = {{"alpha", solution.solved.alpha}, {"lambda", solution.solved.lambda}};
  const auto scaled = [&](const Expr& formula) { return Scaled{formula, evaluate(formula, pair)}; };
  solution.branch_weight = scaled(branch_size(block));
  solution.gradient_scale = scaled(gradient);
  solution.relative_step_scale = scaled(step / lambda_symbol());
}

}  // namespace

ExactSolution solve_exact(const ModelSpec& spec, const ScalingProblem& problem,
                          std::int64_t reference_layers) {
  ScalingProblem at_reference = problem;
  at_reference.layers = reference_layers;
  const ScalingSolution start = solve_scaling(at_reference);

  ExactSolution solution;
  solution.law = solve_scaling(problem);
  Equation equation(spec, problem, solution.law);
  solution.reference = equation.point(reference_layers, {start.alpha.value, start.lambda.value});
  const double target = solution.reference.delta_loss;
  if (!(target > 0) || !std::isfinite(target))
    throw Error(ErrorKind::unsolvable,
                fmt::format("the loss change predicted at the reference depth is {}", target),
                "--reference-layers", "use another reference depth");
  solution.by_law = equation.point(problem.layers, equation.pair_at(0));
  const double step =
      root([&](double x) { return log_ratio(equation, problem.layers, x, target); }, solution.law);
  solution.solved = equation.point(problem.layers, equation.pair_at(step));
  solution.residual = solution.solved.delta_loss / target - 1;
  solution.propagations = equation.propagations();
  solution.shapes = equation.shapes();
  solution.assumptions = equation.assumptions();
  put_sizes(problem, solution);
  return solution;
}

}  // namespace scalecalc
