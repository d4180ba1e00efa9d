#include "scaling/block.hpp"

namespace scalecalc {
namespace {

Expr norm(const Expr& inside) {
  return Expr::function("norm", {inside});
}

bool is_norm(const Expr& expr) {
  return expr.kind() == Expr::Kind::function && expr.name() == "norm";
}

/// The size of an expression: what a norm returns has size 1.
Expr size(const Expr& expr) {
  if (is_norm(expr)) return 1;
  if (expr.kind() != Expr::Kind::product) return expr;
  Expr total = 1;
  for (const Expr& factor : expr.operands()) total = total * size(factor);
  return total;
}

/// The derivative's size. A norm removes the radial part of a change and divides the rest by the
/// size of what it normalises.
Expr slope(const Expr& expr, const std::string& symbol) {
  if (is_norm(expr)) {
    const Expr& inside = expr.operands()[0];
    return slope(inside, symbol) / size(inside);
  }
  if (expr.kind() != Expr::Kind::product) return differentiate(expr, symbol);
  Expr total = 0;
  for (std::size_t i = 0; i < expr.operands().size(); ++i) {
    Expr term = slope(expr.operands()[i], symbol);
    for (std::size_t j = 0; j < expr.operands().size(); ++j)
      if (j != i) term = term * size(expr.operands()[j]);
    total = total + term;
  }
  return total;
}

/// Schemes whose size does not follow from one pair (alpha, lambda); notes to theory, section 7.
Error no_equation(Placement placement) {
  const auto because = [&](const std::string& why, const std::string& hint) {
    return Error(
        ErrorKind::usage,
        "placement " + to_string(placement) + " leaves no alpha and lambda to solve: " + why,
        "--placement", hint);
  };
  if (placement == Placement::resi_dual)
    return because(
        "each branch also reaches the output by a second stream that no norm divides, so its "
        "gradient is about 1/(l + 1) at sublayer l whatever the pair",
        "use alpha = 1 and lambda = 1, or the placement post or pre");
  if (placement == Placement::fixup)
    return because(
        "it sets its own gains, L^(-1/(2m - 2)) for L branches of m matrices and 0 for the last, "
        "which is what sgd asks for; sign steps (adam) ask for L^(-1/(m - 1))",
        "set lambda = \"(2*N)^(-1/2)\" in the model for adam, or use the placement pre");
  return because(
      "branches start at 0, so their weights have no gradient, and the branch scalars' own step "
      "must scale as 1/(2*N)",
      "divide the learning rate of the scalars by 2*N, or use the placement pre");
}

Expr equal_gains(const Expr& expr) {
  return substitute(expr, {{"lambda_1", lambda_symbol()}, {"lambda_2", lambda_symbol()}});
}

}  // namespace

Expr alpha_symbol() {
  return Expr::symbol("alpha");
}
Expr lambda_symbol() {
  return Expr::symbol("lambda");
}

Block block_of(Placement placement) {
  const Expr first = Expr::symbol("lambda_1"), second = Expr::symbol("lambda_2");
  const Expr alpha = alpha_symbol();
  Block block;
  block.placement = placement;
  block.skip = 1;
  block.branch = first * second;
  switch (placement) {
    case Placement::post:
      block.picture = "x' = Norm(alpha*x + F(x))";
      block.picture_latex = "x' = \\mathrm{Norm}(\\alpha x + F(x))";
      block.skip = alpha;
      block.normalised = true;
      break;
    case Placement::pre:
      block.picture = "x' = x + F(Norm(x))";
      block.picture_latex = "x' = x + F(\\mathrm{Norm}(x))";
      block.carries_alpha = false;
      block.fixed_reason = "the norm stands on the branch, so the stream carries x itself";
      break;
    case Placement::res_post:
      block.picture = "x' = x + Norm(F(x))/alpha";
      block.picture_latex = "x' = x + \\mathrm{Norm}(F(x))/\\alpha";
      block.branch = norm(first * second) / alpha;
      break;
    case Placement::sandwich:
      block.picture = "x' = x + Norm(F(Norm(x)))/alpha";
      block.picture_latex = "x' = x + \\mathrm{Norm}(F(\\mathrm{Norm}(x)))/\\alpha";
      block.branch = norm(first * second) / alpha;
      break;
    case Placement::sub_ln:
      block.picture = "x' = x + W_2 Norm(phi(W_1 Norm(x)))";
      block.picture_latex = "x' = x + W_2\\,\\mathrm{Norm}(\\phi(W_1\\,\\mathrm{Norm}(x)))";
      block.branch = second * norm(first);
      block.carries_alpha = false;
      block.stream_grows = true;
      block.fixed_reason = "the norms stand on the branch, so the stream carries x itself";
      break;
    case Placement::branchnorm:
      block.picture = "x' = Norm(x + F(x)/alpha)";
      block.picture_latex = "x' = \\mathrm{Norm}(x + F(x)/\\alpha)";
      block.branch = first * second / alpha;
      block.normalised = true;
      break;
    case Placement::resi_dual:
    case Placement::rezero:
    case Placement::skipinit:
    case Placement::fixup: throw no_equation(placement);
    case Placement::none:
      block.picture = "x' = x + F(x)";
      block.picture_latex = "x' = x + F(x)";
      block.carries_alpha = false;
      block.fixed_reason =
          "nothing normalises the stream, so any other alpha compounds to alpha^(2N)";
      break;
  }
  return block;
}

Expr branch_size(const Block& block) {
  return equal_gains(size(block.branch)) / block.skip;
}

Expr gradient_size(const Block& block, int index) {
  return equal_gains(slope(block.branch, "lambda_" + std::to_string(index))) / block.skip;
}

}  // namespace scalecalc
