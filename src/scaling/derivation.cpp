#include "scaling/derivation.hpp"

namespace scalecalc {
namespace {

DerivationStep step(std::string statement, const Expr& left, const Expr& right, std::string reason,
                    std::string condition = {}) {
  return {std::move(statement), to_string(left) + " = " + to_string(right),
          to_string(left, Notation::latex) + " = " + to_string(right, Notation::latex),
          std::move(reason), std::move(condition)};
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

DerivationStep block_step(const Block& block) {
  return {"The block, with the scales of its two matrices in front",
          block.picture + ", F(x) = lambda_1*lambda_2*h(x)",
          block.picture_latex + ",\\quad F(x) = \\lambda_1\\lambda_2 h(x)",
          "v and o, or ffn_in and ffn_out, act in series on something of size 1; q and k only turn "
          "the softmax, whose rows keep summing to 1, so their gradients are small and their gain "
          "stays 1",
          "the activation is homogeneous, or nearly (relu exactly, gelu and silu for small input)"};
}

DerivationStep gradient_step(const Setup& setup) {
  const Block& block = setup.block;
  std::string reason =
      "the derivative of the branch to lambda_1, with lambda_1 = lambda_2 = lambda";
  if (block.normalised) reason += "; the norm's slope is 1 over the size of its input, alpha*x";
  if (branch_size(block) == gradient_size(block, 1) * lambda_symbol() || block.normalised)
    return step("Size of one matrix' gradient", Expr::symbol("g"), setup.gradient, reason,
                "all branches together do not outgrow the stream: " +
                    to_string(setup.matrices * pow(branch_size(block), Expr(2))) +
                    " at most about 1");
  reason +=
      "; the norm on the branch removes the radial part of a change and divides the rest by "
      "the size of its input, so a larger lambda means a smaller gradient";
  return step("Size of one matrix' gradient", Expr::symbol("g"), setup.gradient, reason);
}

DerivationStep growth_step(const Setup& setup) {
  const Expr l = Expr::symbol("l");
  return step("The stream grows under its branches, and gradients fall with it", Expr::symbol("g"),
              setup.gradient * pow(1 + l * pow(lambda_symbol(), Expr(2)), Expr(Rational(-1, 2))),
              "after l branches of size lambda the second moment is 1 + l*lambda^2; the final norm "
              "and the norms before each branch divide by it",
              "kappa = q E[phi'^2]/Var[phi] is 1: relu with rmsnorm; with layernorm it is "
              "pi/(pi - 1) and the loss change grows as N^(kappa - 1) whatever lambda");
}

DerivationStep equation_step(const Setup& setup) {
  return step(
      "The step must not depend on depth", setup.equation, 1,
      setup.block.stream_grows
          ? "the sum over branches of g^p lambda^s, as an integral over l"
          : to_string(setup.matrices) + " branches times g^p lambda^s" +
                (setup.law.outer_power.is_one() ? std::string()
                                                : "; the outer power does not move the root"));
}

DerivationStep closing_step(const Setup& setup, const ScalingSolution& solution) {
  const Constraint& constraint = solution.constraint;
  std::string reason = "one equation, two unknowns: " + constraint.to_string();
  if (!setup.block.carries_alpha) {
    reason = "alpha is fixed: " + setup.block.fixed_reason;
  } else if (constraint.kind == Constraint::Kind::symmetric) {
    reason +=
        ", the choice between a small init with an unchanged relative step (alpha = 1) and an "
        "unchanged init with a small step (lambda = 1)";
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

}  // namespace

std::vector<DerivationStep> derivation(const Setup& setup, const ScalingSolution& solution) {
  std::vector<DerivationStep> steps = {update_step(setup), loss_step(setup), probe_step(),
                                       block_step(setup.block), gradient_step(setup)};
  if (setup.block.stream_grows) steps.push_back(growth_step(setup));
  steps.push_back(equation_step(setup));
  steps.push_back(closing_step(setup, solution));
  if (!setup.block.stream_grows) steps.push_back(linear_step(setup));

  steps.push_back(step("alpha", alpha_symbol(), solution.alpha.formula, "the solution"));
  if (solution.closed_form) {
    steps.push_back(step("lambda", lambda_symbol(), solution.lambda.formula,
                         setup.block.stream_grows
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
  } else {
    steps.push_back(
        {"lambda", solution.lambda_formula, to_string(setup.equation, Notation::latex) + " = 1",
         "no closed form in elementary functions: found by bracketing, the solution put "
         "back gives " +
             std::to_string(solution.equation_value),
         ""});
  }
  steps.push_back(step("The other way out: warm-up", Expr::symbol("eta_0"),
                       Expr::symbol("eta") / setup.depth,
                       "without any alpha or lambda the loss change of the first steps grows with "
                       "the number of layers; a learning rate that starts at eta over it, and then "
                       "rises, undoes that"));
  if (setup.block.normalised)
    steps.push_back(
        step("The published bound", lambda_symbol() / alpha_symbol(),
             pow(4 * setup.depth, Expr(Rational(-1, 2))),
             "DeepNet bounds both matrices of a branch together and so asks for half the "
             "squared gradient that sgd's equation above asks for; the power of depth is "
             "the same"));
  return steps;
}

}  // namespace scalecalc
