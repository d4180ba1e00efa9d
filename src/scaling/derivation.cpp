#include "scaling/derivation.hpp"

#include <fmt/format.h>

#include "scaling/depth_law.hpp"

namespace scalecalc {
namespace {

DerivationStep step(std::string statement, const Expr& left, const Expr& right, std::string reason,
                    std::string condition = {}) {
  return {std::move(statement), to_string(left) + " = " + to_string(right),
          to_string(left, Notation::latex) + " = " + to_string(right, Notation::latex),
          std::move(reason), std::move(condition)};
}

/// "0.713", "1.04".
std::string decimal(const Rational& value) {
  return fmt::format("{:.6g}", value.to_double());
}

Expr real(const std::string& name) {
  return Expr::symbol(name, Assumption::real);
}

DerivationStep update_step(const Setup& setup) {
  DerivationStep first = step("One step of " + setup.optimizer.name, real("dtheta"),
                              -Expr::symbol("eta") * setup.optimizer.update,
                              "the update rule of the first step, for one weight matrix theta with "
                              "gradient g");
  if (!setup.optimizer.note.empty())
    first.condition = "up to a factor free of depth: " + setup.optimizer.note;
  return first;
}

DerivationStep loss_step(const Setup& setup) {
  const Expr g = Expr::symbol("g"), theta = Expr::symbol("theta");
  const StepLaw& law = setup.law;
  const Expr one = pow(g, law.gradient_power) * pow(theta, law.parameter_power);
  const std::string powers = "p = " + law.gradient_power.to_string() +
                             ", s = " + law.parameter_power.to_string() +
                             ", o = " + law.outer_power.to_string();
  return step(
      "First-order loss change, in the sizes of gradient and parameter", real("dL"),
      -Expr::symbol("eta") * pow(setup.matrices * one, law.outer_power),
      "<g, dtheta> summed over " + to_string(setup.matrices) +
          " equal branches, each with a fixed number of matrices; scaling g and theta in "
          "the rule gives the powers: " +
          powers +
          "; constant factors (matrices per branch, entries per matrix) do not change with depth");
}

DerivationStep probe_step() {
  return {"A scalar probe for the size of a gradient",
          "W = lambda*U, lambda^2 = |W W^T|^2/tr(W W^T), dL/dlambda = <dL/dW, U>",
          "W = \\lambda U,\\quad \\lambda^2 = \\frac{\\|WW^\\top\\|_F^2}{\\mathrm{tr}\\,WW^\\top},"
          "\\quad \\frac{\\partial L}{\\partial\\lambda} = \\langle \\frac{\\partial L}"
          "{\\partial W}, U\\rangle",
          "U is the nearest to orthogonal that one scale allows (least squares of W W^T against a "
          "multiple of I), so the derivative to lambda has the size of the matrix gradient "
          "(measured by scalecalc sweep --quantity probe)",
          ""};
}

/// "v and o" act in series; which letters stand for them depends on the picture.
DerivationStep block_step(const Block& block) {
  const bool has_branch = block.picture.find("F(") != std::string::npos;
  return {"The block, with the scales of its two matrices in front",
          block.picture + (has_branch ? ", F(x) = lambda_1*lambda_2*h(x)" : ", |W_i| = lambda_i"),
          block.picture_latex + (has_branch ? ",\\quad F(x) = \\lambda_1\\lambda_2 h(x)"
                                            : ",\\quad |W_i| = \\lambda_i"),
          "v and o, or ffn_in and ffn_out, act in series on something of size 1; q and k only turn "
          "the softmax, whose rows keep summing to 1, so their gradients are small and their gain "
          "stays 1",
          "the activation is homogeneous, or nearly (relu exactly, gelu and silu for small input)"};
}

DerivationStep gradient_step(const Setup& setup) {
  const Block& block = setup.block;
  const Expr branch = branch_size(block);
  const bool norm_on_branch = !(branch == setup.gradient * lambda_symbol());
  std::string reason =
      "the derivative of the branch to lambda_1, with lambda_1 = lambda_2 = lambda";
  if (is_normalised(block))
    reason += "; the norm's slope is 1 over the size of its input, " +
              to_string(block.skip * Expr::symbol("x"));
  if (norm_on_branch)
    reason +=
        "; the norm on the branch removes the radial part of a change and divides the rest by the "
        "size of its input, so a larger lambda of one matrix takes from the other's gradient what "
        "it adds to it";
  std::string condition;
  if (!closes_by_growth(block))
    condition = "all branches together do not outgrow the stream: " +
                to_string(setup.matrices * pow(branch, Expr(2))) + " at most about 1";
  return step("Size of one matrix' gradient", Expr::symbol("g"), setup.gradient, reason, condition);
}

DerivationStep growth_step(const Setup& setup) {
  const Expr l = Expr::symbol("l"), branch = branch_size(setup.block);
  return step("The stream grows under its branches, and gradients fall with it", Expr::symbol("g"),
              setup.gradient * pow(1 + l * pow(branch, Expr(2)), Expr(Rational(-1, 2))),
              "after l branches of size " + to_string(branch) + " the second moment is " +
                  to_string(1 + l * pow(branch, Expr(2))) +
                  "; the final norm and the norms before each branch divide by it",
              "kappa, how fast squared gradients grow against the stream that they pass, is 1 "
              "(here " +
                  decimal(setup.moments.kappa) + ")");
}

DerivationStep equation_step(const Setup& setup) {
  const StepLaw& law = setup.law;
  const std::string term = to_string(pow(Expr::symbol("g"), law.gradient_power) *
                                     pow(lambda_symbol(), law.parameter_power));
  return step("The step must not depend on depth", setup.equation, 1,
              closes_by_growth(setup.block)
                  ? "the sum over branches of " + term + ", as an integral over l"
                  : to_string(setup.matrices) + " branches times " + term +
                        (law.outer_power.is_one() ? std::string()
                                                  : "; the outer power does not move the root"));
}

/// "alpha = 1 (lambda = 1/(2*N), relative step 2*N)".
std::string described(const Alternative& other) {
  return "alpha = " + to_string(other.alpha.formula) +
         ", lambda = " + to_string(other.lambda.formula) + " (relative step " +
         to_string(other.relative_step.formula) + ")";
}

DerivationStep closing_step(const Setup& setup, const ScalingSolution& solution) {
  const Constraint& constraint = solution.constraint;
  std::string reason = "one equation, two unknowns: " + constraint.to_string();
  if (!carries_alpha(setup.block)) {
    reason = "alpha is fixed: " + fixed_alpha_reason(setup.block);
  } else if (!solution.alternatives.empty()) {
    reason += ", relative step " + to_string(solution.relative_step_scale.formula) +
              "; the same equation also holds for ";
    for (std::size_t i = 0; i < solution.alternatives.size(); ++i)
      reason += (i ? " and for " : "") + described(solution.alternatives[i]);
  }
  switch (constraint.kind) {
    case Constraint::Kind::symmetric:
      return step("Closing the pair", alpha_symbol() * lambda_symbol(), 1, reason);
    case Constraint::Kind::alpha:
      return step("Closing the pair", alpha_symbol(), constraint.value, reason);
    case Constraint::Kind::lambda: break;
  }
  return step("Closing the pair", lambda_symbol(), constraint.value, reason);
}

/// The equation's exponents: a row of the linear system in (ln alpha, ln lambda).
DerivationStep linear_step(const Setup& setup) {
  const auto law = power_law(setup.equation, {"alpha", "lambda"});
  const auto power = [&](const char* name) {
    const auto found = law->exponents.find(name);
    return Expr(found == law->exponents.end() ? Rational(0) : found->second);
  };
  return step("In logarithms, linear with rational coefficients",
              power("alpha") * log(alpha_symbol()) + power("lambda") * log(lambda_symbol()),
              -log(law->coefficient), "the logarithm of the equation; solved by elimination");
}

/// lambda, then the solution put back into the equation.
void add_lambda(const Setup& setup, const ScalingSolution& solution,
                std::vector<DerivationStep>& steps) {
  if (!solution.closed_form) {
    steps.push_back(
        {"lambda", solution.lambda_formula, to_string(setup.equation, Notation::latex) + " = 1",
         "no closed form in elementary functions: found by bracketing, the solution put "
         "back gives " +
             std::to_string(solution.equation_value),
         ""});
    return;
  }
  steps.push_back(step("lambda", lambda_symbol(), solution.lambda.formula,
                       closes_by_growth(setup.block)
                           ? "with w = (1 + n*lambda^2)^(1/2), lambda^2 = (w^2 - 1)/n makes the "
                             "equation linear in w"
                           : "the solution"));
  // Depths start at 1, which the comparison at random points must respect.
  const Expr back = substitute(substitute(setup.equation, {{"alpha", solution.alpha.formula},
                                                           {"lambda", solution.lambda.formula}}),
                               {{solution.depth_symbol, 1 + setup.depth}});
  steps.push_back({"Put back", to_string(setup.equation) + " = 1 at the solution",
                   to_string(setup.equation, Notation::latex) + " = 1", equal(back, 1).describe(),
                   ""});
}

std::string draws_condition(const WarmUp& warmup) {
  std::string text =
      "tokens have become alike, as attention makes them; the median draw of the weights";
  if (warmup.spread)
    text += fmt::format(", the logarithm of others has a variance of at most about 1 ({:.2g} here)",
                        *warmup.spread);
  return text;
}

/// The loss change without a pair, and the learning rate that undoes it.
void add_warm_up(const Setup& setup, const ScalingSolution& solution,
                 std::vector<DerivationStep>& steps) {
  const WarmUp& warmup = solution.warmup;
  if (!warmup.factor) {
    steps.push_back({"Without the pair", "alpha = lambda = 1", "\\alpha = \\lambda = 1",
                     warmup.why_none + ": no warm-up helps", ""});
    return;
  }
  const BlockMoments& moments = setup.moments;
  const std::string power = setup.law.gradient_power.to_string();
  const bool held = stream_growth(setup.block) == StreamGrowth::held;
  std::string reason =
      held ? "the norm on the sum keeps the stream at size 1; skip and branch together carry the "
             "squared gradient on, times e^rate a layer, rate = " +
                 decimal(moments.rate) +
                 ", and its logarithm differs between draws by a variance of " +
                 decimal(moments.spread) + " a layer, by which the sum of the median draw is larger"
           : "l branches of this block make the stream's second moment 1 + beta*l, beta = " +
                 decimal(moments.growth) +
                 ", and squared gradients fall with it to the power kappa = " +
                 decimal(moments.kappa) + ", down to one over the end's at the last branch";
  steps.push_back(step("Loss change of one step at alpha = lambda = 1", real("dL_1"),
                       -Expr::symbol("eta") * warmup.loss_change,
                       reason + "; summed over the branches with p = " + power +
                           (setup.law.outer_power.is_one()
                                ? std::string()
                                : ", to the power o = " + setup.law.outer_power.to_string()),
                       draws_condition(warmup)));
  steps.push_back(step("The other way out: warm-up", Expr::symbol("eta_0"),
                       Expr::symbol("eta") * warmup.factor->formula,
                       "a learning rate that starts there, and then rises, makes the first step "
                       "independent of depth without any alpha or lambda"));
}

/// Of what a mixture steps beside the matrices that the pair is solved for.
DerivationStep rest_step(const RestStep& rest) {
  if (rest.loss_change)
    return step(
        "The other optimizer's matrices: " + rest.parameters, real("dL"),
        -Expr::symbol("eta") * rest.loss_change->formula,
        "at this pair, where the others change it by eta; with a learning rate of their "
        "own, times the inverse of this, they change it as much",
        "by " + rest.optimizer + ", a relative step of " + to_string(rest.relative_step.formula));
  return step(
      "All but the hidden matrices: " + rest.parameters, Expr::symbol("g"), rest.gradient.formula,
      rest.parameters == "norm gains"
          ? "the derivative of the block to a factor of what its norm returns, at a gain of 1"
          : "they make or read the stream itself, which all branches together do not "
            "outgrow; their size is 1",
      std::string("by the ") + (rest.is_second ? "second" : "first") +
          " optimizer, a relative step of " + to_string(rest.relative_step.formula));
}

/// DeepNet's constants in this equation.
DerivationStep published_step(const Setup& setup) {
  const Expr n = setup.matrices;
  const Expr alpha = pow(n, Expr(Rational(1, 4))), lambda = pow(4 * n, Expr(Rational(-1, 4)));
  const Expr left = substitute(setup.equation, {{"alpha", alpha}, {"lambda", lambda}});
  const auto power = power_law(left, {setup.depth.name()});
  const bool free = power && power->exponents.empty();
  std::string reason = "DeepNet's pair, alpha = " + to_string(alpha) +
                       " and lambda = " + to_string(lambda) +
                       ", makes the left side of the equation " + to_string(left);
  reason += free ? ": free of depth too; it bounds both matrices of a branch together, which "
                   "changes the constant alone"
                 : ": it is derived for the squared gradient, so under " + setup.optimizer.name +
                       " the loss change still depends on depth";
  return step("The published bound", lambda_symbol() / alpha_symbol(), lambda / alpha, reason);
}

}  // namespace

std::vector<DerivationStep> derivation(const Setup& setup, const ScalingSolution& solution) {
  std::vector<DerivationStep> steps = {update_step(setup), loss_step(setup), probe_step(),
                                       block_step(setup.block), gradient_step(setup)};
  const bool by_growth = closes_by_growth(setup.block);
  if (by_growth) steps.push_back(growth_step(setup));
  steps.push_back(equation_step(setup));
  steps.push_back(closing_step(setup, solution));
  if (!by_growth) steps.push_back(linear_step(setup));
  steps.push_back(step("alpha", alpha_symbol(), solution.alpha.formula, "the solution"));
  add_lambda(setup, solution, steps);
  for (const RestStep& rest : solution.rest) steps.push_back(rest_step(rest));
  add_warm_up(setup, solution, steps);
  if (is_normalised(setup.block)) steps.push_back(published_step(setup));
  return steps;
}

}  // namespace scalecalc
