#include "base/text.hpp"
#include "symbolic/canonical.hpp"
#include "symbolic/functions.hpp"

namespace scalecalc {
namespace {

using Kind = Expr::Kind;

Expr value_for(const Expr& symbol, const std::map<std::string, Expr>& values) {
  const auto found = values.find(symbol.name());
  if (found == values.end()) return symbol;
  if (symbol.assumption() == Assumption::positive &&
      symbolic::signs_of(found->second) == symbolic::sign::negative) {
    throw Error(ErrorKind::input, symbol.name() + " stands for a positive number",
                symbol.name() + " = " + base::shortened(to_string(found->second), 40));
  }
  return found->second;
}

/// (f^g)' = f^g (g' log f + g f'/f)
Expr derivative_of_power(const Expr& expr, const std::string& symbol) {
  const Expr &base = expr.operands()[0], &exponent = expr.operands()[1];
  const Expr inner = differentiate(base, symbol);
  const Expr from_base = inner.is_zero() ? Expr(0) : exponent * pow(base, exponent - 1) * inner;
  const Expr outer = differentiate(exponent, symbol);
  return outer.is_zero() ? from_base : from_base + expr * outer * log(base);
}

Expr derivative_of_product(const Expr& expr, const std::string& symbol) {
  std::vector<Expr> terms;
  for (std::size_t k = 0; k < expr.operands().size(); ++k) {
    std::vector<Expr> factors = expr.operands();
    factors[k] = differentiate(factors[k], symbol);
    if (!factors[k].is_zero()) terms.push_back(symbolic::multiply(std::move(factors)));
  }
  return symbolic::add(std::move(terms));
}

/// d max(a, b, ...) = sum of a' times step(a - b) for every other b; min with the signs turned.
Expr derivative_of_extreme(const Expr& expr, const std::string& symbol) {
  const int turn = expr.name() == "max" ? 1 : -1;
  std::vector<Expr> terms;
  for (const Expr& chosen : expr.operands()) {
    std::vector<Expr> factors{differentiate(chosen, symbol)};
    if (factors[0].is_zero()) continue;
    for (const Expr& other : expr.operands()) {
      if (&other == &chosen) continue;
      factors.push_back(Expr::function("step", {turn * (chosen - other)}));
    }
    terms.push_back(symbolic::multiply(std::move(factors)));
  }
  return symbolic::add(std::move(terms));
}

Expr derivative_by_arguments(const Expr& expr, const std::string& symbol) {
  std::vector<Expr> terms;
  for (std::size_t k = 0; k < expr.operands().size(); ++k) {
    const Expr inner = differentiate(expr.operands()[k], symbol);
    if (!inner.is_zero())
      terms.push_back(expr.node().function->partial(expr.operands(), k) * inner);
  }
  return symbolic::add(std::move(terms));
}

Expr derivative_of_function(const Expr& expr, const std::string& symbol) {
  if (!expr.contains(symbol)) return 0;
  if (expr.name() == "max" || expr.name() == "min") return derivative_of_extreme(expr, symbol);
  const symbolic::Function* function = expr.node().function;
  if (function && function->partial) return derivative_by_arguments(expr, symbol);
  if (!function || !function->derivative) {
    throw Error(ErrorKind::input,
                "the function '" + base::shortened(expr.name()) + "' has no known derivative", "",
                "norm, rms, global_norm and orthogonal are of a matrix: they belong to a rule of "
                "an optimizer");
  }
  const Expr& argument = expr.operands()[0];
  return function->derivative(argument) * differentiate(argument, symbol);
}

std::vector<Expr> terms_of(const Expr& expr) {
  return expr.kind() == Kind::sum ? expr.operands() : std::vector<Expr>{expr};
}

/// The product of two sums of terms, like terms collected.
Expr multiply_out(const Expr& a, const Expr& b) {
  const std::vector<Expr> left = terms_of(a), right = terms_of(b);
  // A term of a product has four nodes or more.
  if (left.size() * right.size() > ExprLimits::size / 4) {
    throw Error(ErrorKind::input, "the expanded expression is too large", {},
                "expressions are limited to " + std::to_string(ExprLimits::size) + " nodes");
  }
  std::vector<Expr> terms;
  for (const Expr& x : left) {
    for (const Expr& y : right) terms.push_back(x * y);
  }
  return symbolic::add(std::move(terms));
}

constexpr std::int64_t largest_expanded_power = 64;

Expr expand_power(const Expr& power) {
  if (power.kind() != Kind::power || power.operands()[0].kind() != Kind::sum) return power;
  const Expr& exponent = power.operands()[1];
  const auto count = exponent.is_number() ? exponent.number().to_int64() : std::nullopt;
  if (!count || *count < 2 || *count > largest_expanded_power) return power;
  Expr result = power.operands()[0];
  for (std::int64_t k = 1; k < *count; ++k) result = multiply_out(result, power.operands()[0]);
  return result;
}

}  // namespace

namespace symbolic {

Expr rebuild(const Expr& expr, std::vector<Expr> operands) {
  switch (expr.kind()) {
    case Kind::sum: return add(std::move(operands));
    case Kind::product: return multiply(std::move(operands));
    case Kind::power: return pow(operands[0], operands[1]);
    case Kind::function: return Expr::function(expr.name(), std::move(operands));
    default: return expr;
  }
}

}  // namespace symbolic

Expr substitute(const Expr& expr, const std::map<std::string, Expr>& values) {
  if (values.empty()) return expr;
  if (expr.kind() == Kind::symbol) return value_for(expr, values);
  if (expr.operands().empty()) return expr;
  std::vector<Expr> operands;
  bool changed = false;
  for (const Expr& operand : expr.operands()) {
    operands.push_back(substitute(operand, values));
    changed = changed || &operands.back().node() != &operand.node();
  }
  return changed ? symbolic::rebuild(expr, std::move(operands)) : expr;
}

Expr differentiate(const Expr& expr, const std::string& symbol) {
  switch (expr.kind()) {
    case Kind::number:
    case Kind::constant: return 0;
    case Kind::symbol: return expr.name() == symbol ? 1 : 0;
    case Kind::sum: {
      std::vector<Expr> terms;
      for (const Expr& term : expr.operands()) terms.push_back(differentiate(term, symbol));
      return symbolic::add(std::move(terms));
    }
    case Kind::product: return derivative_of_product(expr, symbol);
    case Kind::power: return derivative_of_power(expr, symbol);
    case Kind::function: break;
  }
  return derivative_of_function(expr, symbol);
}

Expr expand(const Expr& expr) {
  if (expr.operands().empty()) return expr;
  std::vector<Expr> operands;
  for (const Expr& operand : expr.operands()) operands.push_back(expand(operand));
  if (expr.kind() != Kind::product) {
    return expand_power(symbolic::rebuild(expr, std::move(operands)));
  }
  Expr result = 1;
  for (const Expr& factor : operands) result = multiply_out(result, factor);
  return result;
}

}  // namespace scalecalc
