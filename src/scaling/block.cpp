#include "scaling/block.hpp"

#include <algorithm>

namespace scalecalc {
namespace {

constexpr const char* kNorm = "Norm";
constexpr const char* kDegreeOne = "h";

bool is_call(const Expr& expr, const char* name) {
  return expr.kind() == Expr::Kind::function && expr.name() == name;
}

bool is_norm(const Expr& expr) {
  return is_call(expr, kNorm);
}

/// Whether `test` holds of the expression or of any part of it.
template <class Test>
bool any_part(const Expr& expr, Test test) {
  if (test(expr)) return true;
  const std::vector<Expr>& parts = expr.operands();
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Expr& part) { return any_part(part, test); });
}

/// The size of an expression: what a norm returns has size 1, h keeps the size of its argument.
Expr size(const Expr& expr) {
  if (is_norm(expr)) return 1;
  if (is_call(expr, kDegreeOne)) return size(expr.operands()[0]);
  if (expr.kind() != Expr::Kind::product) return expr;
  Expr total = 1;
  for (const Expr& factor : expr.operands()) total = total * size(factor);
  return total;
}

/// The derivative's size. A norm removes the radial part of a change and divides the rest by the
/// size of what it normalises.
Expr slope(const Expr& expr, const std::string& symbol) {
  if (is_call(expr, kDegreeOne)) return slope(expr.operands()[0], symbol);
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

/// Schemes whose size does not follow from one pair (alpha, lambda).
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

/// The picture, and the same for LaTeX.
struct Picture {
  const char* text;
  const char* latex;
};

Picture picture_of(Placement placement) {
  switch (placement) {
    case Placement::post: return {"Norm(alpha*x + F(x))", "\\mathrm{Norm}(\\alpha x + F(x))"};
    case Placement::pre: return {"x + F(Norm(x))", "x + F(\\mathrm{Norm}(x))"};
    case Placement::res_post: return {"x + Norm(F(x))/alpha", "x + \\mathrm{Norm}(F(x))/\\alpha"};
    case Placement::sandwich:
      return {"x + Norm(F(Norm(x)))/alpha", "x + \\mathrm{Norm}(F(\\mathrm{Norm}(x)))/\\alpha"};
    case Placement::sub_ln:
      return {"x + W_2*Norm(phi(W_1*Norm(x)))",
              "x + W_2\\,\\mathrm{Norm}(\\phi(W_1\\,\\mathrm{Norm}(x)))"};
    case Placement::branchnorm: return {"Norm(x + F(x)/alpha)", "\\mathrm{Norm}(x + F(x)/\\alpha)"};
    case Placement::ngpt:
      return {"Norm(alpha*x + Norm(F(x)))", "\\mathrm{Norm}(\\alpha x + \\mathrm{Norm}(F(x)))"};
    case Placement::none: return {"x + F(x)", "x + F(x)"};
    case Placement::resi_dual:
    case Placement::rezero:
    case Placement::skipinit:
    case Placement::fixup: break;
  }
  throw no_equation(placement);
}

/// The picture as an expression: F is two matrices around a function of degree 1, W_1 and W_2 are
/// matrices by themselves, of size lambda_1 and lambda_2.
Expr expression_of(const std::string& picture) {
  const Expr x = Expr::symbol("x"), first = Expr::symbol("lambda_1"),
             second = Expr::symbol("lambda_2");
  ParseOptions options;
  options.where = "block";
  options.functions = {{"Norm", Expr::function(kNorm, {x})},
                       {"phi", Expr::function(kDegreeOne, {x})},
                       {"F", first * second * Expr::function(kDegreeOne, {x})}};
  return substitute(parse(picture, options), {{"W_1", first}, {"W_2", second}});
}

/// The sum of skip and branch, inside the norm where one acts on it.
const Expr& sum_of(const Expr& next) {
  return is_norm(next) ? next.operands()[0] : next;
}

/// The expression with the norm number `target`, counted from the outermost, times `gain`; `at`
/// counts those passed.
Expr with_gain(const Expr& expr, int target, int& at) {
  const bool here = is_norm(expr) && at++ == target;
  if (expr.operands().empty()) return expr;
  std::vector<Expr> parts;
  for (const Expr& part : expr.operands()) parts.push_back(with_gain(part, target, at));
  if (expr.kind() == Expr::Kind::function) {
    const Expr call = Expr::function(expr.name(), parts);
    return here ? Expr::symbol("gain") * call : call;
  }
  if (expr.kind() == Expr::Kind::power) return pow(parts[0], parts[1]);
  Expr result = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i)
    result = expr.kind() == Expr::Kind::sum ? result + parts[i] : result * parts[i];
  return result;
}

Expr equal_gains(const Expr& expr) {
  return substitute(expr, {{"lambda_1", lambda_symbol()}, {"lambda_2", lambda_symbol()}});
}

Expr at_unit_stream(const Expr& size) {
  return substitute(size, {{"x", 1}});
}

}  // namespace

Expr alpha_symbol() {
  return Expr::symbol("alpha");
}
Expr lambda_symbol() {
  return Expr::symbol("lambda");
}

Block block_of(Placement placement) {
  const Picture picture = picture_of(placement);
  Block block;
  block.placement = placement;
  block.picture = std::string("x' = ") + picture.text;
  block.picture_latex = std::string("x' = ") + picture.latex;
  block.next = expression_of(picture.text);
  for (const Expr& term : sum_of(block.next).operands()) {
    const bool has_matrices = term.contains("lambda_1");
    (has_matrices ? block.branch : block.skip) = has_matrices ? term : at_unit_stream(term);
  }
  return block;
}

Expr branch_size(const Block& block) {
  return equal_gains(at_unit_stream(size(block.branch))) / block.skip;
}

Expr gradient_size(const Block& block, int index) {
  const Expr derivative = slope(block.branch, "lambda_" + std::to_string(index));
  return equal_gains(at_unit_stream(derivative)) / block.skip;
}

std::vector<Expr> gain_gradient_sizes(const Block& block) {
  std::vector<Expr> sizes;
  if (is_normalised(block)) sizes.emplace_back(1);  // its gain multiplies the stream itself
  for (int target = 0;; ++target) {
    int norms = 0;
    const Expr branch = with_gain(block.branch, target, norms);
    if (target >= norms) return sizes;
    const Expr derivative = substitute(slope(branch, "gain"), {{"gain", 1}});
    const Expr size = equal_gains(at_unit_stream(derivative)) / block.skip;
    if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  }
}

bool is_normalised(const Block& block) {
  return is_norm(block.next);
}

StreamGrowth stream_growth(const Block& block) {
  if (is_normalised(block)) return StreamGrowth::held;
  return size(block.branch).contains("x") ? StreamGrowth::multiplied : StreamGrowth::added;
}

bool carries_alpha(const Block& block) {
  return block.next.contains("alpha");
}

std::string fixed_alpha_reason(const Block& block) {
  if (stream_growth(block) == StreamGrowth::multiplied)
    return "nothing normalises the stream, so any other alpha compounds to alpha^(2N)";
  int norms = 0;
  any_part(block.branch, [&](const Expr& part) {
    norms += is_norm(part);
    return false;
  });
  return norms == 1 ? "the norm stands on the branch, so the stream carries x itself"
                    : "the norms stand on the branch, so the stream carries x itself";
}

bool closes_by_growth(const Block& block) {
  const Expr gradient = gradient_size(block, 1);
  return !gradient.contains("alpha") && !gradient.contains("lambda") &&
         stream_growth(block) == StreamGrowth::added;
}

bool reads_bare_stream(const Block& block) {
  return any_part(block.branch, [](const Expr& part) {
    return is_call(part, kDegreeOne) && size(part.operands()[0]).contains("x");
  });
}

}  // namespace scalecalc
