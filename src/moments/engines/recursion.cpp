#include "moments/engines/recursion.hpp"

#include <vector>

#include "moments/engines/formula.hpp"
#include "symbolic/node.hpp"

namespace scalecalc::moments {
namespace {

bool same(const Expr& a, const Expr& b) {
  return equal(a, b).verdict == Equality::Verdict::equal;
}

Expr put(const Expr& formula, const std::string& symbol, const Expr& value) {
  return substitute(formula, {{symbol, value}});
}

/// Both halves of the recursion, with the formula in place of the state.
bool satisfies(const Expr& formula, const Recursion& recursion) {
  const Expr index = Expr::symbol(recursion.index);
  return same(put(formula, recursion.index, 0), recursion.first) &&
         same(put(formula, recursion.index, index + 1),
              put(recursion.next, recursion.state, formula));
}

// x(l) = a^l x(0) + b (a^l - 1)/(a - 1), and x(0) + l b for a = 1.
Expr affine_solution(const Affine& step, const Expr& first, const Expr& index) {
  if (same(step.slope, 1)) return first + index * step.shift;
  const Expr power = pow(step.slope, index);
  if (step.shift.is_zero()) return first * power;
  return first * power + step.shift * (power - 1) / (step.slope - 1);
}

/// Opaque functions that do not change along the recursion, as symbols: a proof by numbers could
/// not evaluate them.
class Hidden {
 public:
  explicit Hidden(const Recursion& recursion) : recursion_(recursion) {}
  Expr hide(const Expr& expr) {
    const bool opaque = expr.kind() == Expr::Kind::function && !expr.node().function;
    if (!opaque || changes(expr)) return rebuilt(expr, [this](const Expr& x) { return hide(x); });
    for (const auto& [name, known] : values_)
      if (known == expr) return Expr::symbol(name, Assumption::real);
    const std::string name = "hidden_" + std::to_string(values_.size());
    values_.emplace(name, expr);
    return Expr::symbol(name, Assumption::real);
  }
  Expr show(const Expr& expr) const { return substitute(expr, values_); }

 private:
  bool changes(const Expr& expr) const {
    return expr.contains(recursion_.state) || expr.contains(recursion_.index);
  }
  const Recursion& recursion_;
  std::map<std::string, Expr> values_;
};

// x(l) = a^l x(0) + b (a^l - w^l)/(a - w) for a shift b w^l.
std::optional<Expr> geometric_shift(const Affine& step, const Recursion& recursion) {
  const Expr index = Expr::symbol(recursion.index);
  const Expr start = put(step.shift, recursion.index, 0);
  if (start.is_zero()) return std::nullopt;
  const Expr ratio = put(step.shift, recursion.index, 1) / start;
  if (same(step.slope, ratio)) return std::nullopt;
  return recursion.first * pow(step.slope, index) +
         start * (pow(step.slope, index) - pow(ratio, index)) / (step.slope - ratio);
}

std::optional<Expr> solve_evaluable(const Recursion& recursion, const std::vector<Expr>& ratios) {
  const std::optional<Affine> step = affine_in(recursion.next, recursion.state);
  if (!step) return std::nullopt;
  const Expr index = Expr::symbol(recursion.index);
  const bool alike =
      !step->slope.contains(recursion.index) && !step->shift.contains(recursion.index);
  if (alike) {
    const Expr formula = affine_solution(*step, recursion.first, index);
    if (satisfies(formula, recursion)) return formula;
  }
  if (!alike && !step->slope.contains(recursion.index) && !step->slope.is_zero()) {
    const auto formula = geometric_shift(*step, recursion);
    if (formula && satisfies(*formula, recursion)) return formula;
  }
  for (const Expr& ratio : ratios) {
    const Expr formula = recursion.first * ratio / put(ratio, recursion.index, 0);
    if (satisfies(formula, recursion)) return formula;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Affine> affine_in(const Expr& expr, const std::string& symbol) {
  if (!expr.contains(symbol)) return Affine{0, expr};
  try {
    Expr slope = differentiate(expr, symbol);
    if (slope.contains(symbol)) slope = differentiate(expand(expr), symbol);
    if (slope.contains(symbol)) return std::nullopt;
    return Affine{slope, put(expr, symbol, 0)};
  } catch (const Error&) {  // a function without a known derivative
    return std::nullopt;
  }
}

std::optional<Expr> solve_recursion(const Recursion& recursion, const std::vector<Expr>& ratios) {
  try {
    Hidden hidden(recursion);
    Recursion evaluable = recursion;
    evaluable.next = hidden.hide(recursion.next);
    evaluable.first = hidden.hide(recursion.first);
    std::vector<Expr> candidates;
    for (const Expr& ratio : ratios) candidates.push_back(hidden.hide(ratio));
    const auto formula = solve_evaluable(evaluable, candidates);
    if (formula) return hidden.show(*formula);
  } catch (const Error&) {  // no real value, or past the bounds of an expression
  }
  return std::nullopt;
}

}  // namespace scalecalc::moments
