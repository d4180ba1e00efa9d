#include <algorithm>

#include "symbolic/canonical.hpp"
#include "symbolic/functions.hpp"

namespace scalecalc {
namespace {

using Kind = Expr::Kind;
using Law = std::optional<PowerLaw>;

bool depends_on(const Expr& expr, const std::vector<std::string>& symbols) {
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](const std::string& name) { return expr.contains(name); });
}

void add_exponent(PowerLaw& law, const std::string& symbol, const Rational& exponent) {
  Rational& total = law.exponents[symbol];
  total = total + exponent;
  if (total.is_zero()) law.exponents.erase(symbol);
}

Law law_of_product(const Expr& expr, const std::vector<std::string>& symbols) {
  PowerLaw result;
  std::vector<Expr> coefficients;
  for (const Expr& factor : expr.operands()) {
    const Law law = power_law(factor, symbols);
    if (!law) return std::nullopt;
    coefficients.push_back(law->coefficient);
    for (const auto& [symbol, exponent] : law->exponents) add_exponent(result, symbol, exponent);
  }
  result.coefficient = symbolic::multiply(std::move(coefficients));
  return result;
}

/// (c x^a)^e = c^e x^(a e), where the base cannot be negative or e is an integer.
Law law_of_power(const Expr& expr, const std::vector<std::string>& symbols) {
  const Expr &base = expr.operands()[0], &exponent = expr.operands()[1];
  if (!exponent.is_number()) return std::nullopt;
  Law law = power_law(base, symbols);
  if (!law) return std::nullopt;
  const bool alone = base.kind() == Kind::symbol;
  if (!alone && !exponent.number().is_integer() && !symbolic::is_nonnegative(base)) {
    return std::nullopt;
  }
  law->coefficient = pow(law->coefficient, exponent);
  for (auto& [symbol, power] : law->exponents) power = power * exponent.number();
  return law;
}

/// Terms with the same exponents: a x^p + b x^p = (a + b) x^p.
Law law_of_sum(const Expr& expr, const std::vector<std::string>& symbols) {
  Law result;
  std::vector<Expr> coefficients;
  for (const Expr& term : expr.operands()) {
    const Law law = power_law(term, symbols);
    if (!law || (result && result->exponents != law->exponents)) return std::nullopt;
    coefficients.push_back(law->coefficient);
    result = law;
  }
  result->coefficient = symbolic::add(std::move(coefficients));
  return result;
}

using DegreeOf = std::optional<Rational>;

/// The degree shared by all that are not 0; 0 has every degree.
DegreeOf shared_degree(const std::vector<Expr>& parts, const std::string& symbol) {
  DegreeOf shared;
  for (const Expr& part : parts) {
    if (part.is_zero()) continue;
    const DegreeOf degree = homogeneity(part, symbol);
    if (!degree || (shared && !(*shared == *degree))) return std::nullopt;
    shared = degree;
  }
  return shared ? shared : Rational(0);
}

DegreeOf degree_of_function(const Expr& expr, const std::string& symbol) {
  const DegreeOf inside = shared_degree(expr.operands(), symbol);
  if (!inside) return std::nullopt;
  const symbolic::Function* function = expr.node().function;
  if (function && function->degree == symbolic::Degree::one) return inside;
  if (function && function->degree == symbolic::Degree::zero) return Rational(0);
  return inside->is_zero() ? inside : std::nullopt;
}

DegreeOf degree_of_power(const Expr& expr, const std::string& symbol) {
  const DegreeOf base = homogeneity(expr.operands()[0], symbol);
  const Expr& exponent = expr.operands()[1];
  if (!base) return std::nullopt;
  if (exponent.is_number()) return *base * exponent.number();
  const DegreeOf above = homogeneity(exponent, symbol);
  if (base->is_zero() && above && above->is_zero()) return Rational(0);
  return std::nullopt;
}

}  // namespace

std::optional<PowerLaw> power_law(const Expr& expr, const std::vector<std::string>& symbols) {
  if (!depends_on(expr, symbols)) return PowerLaw{expr, {}};
  switch (expr.kind()) {
    case Kind::symbol: return PowerLaw{1, {{expr.name(), 1}}};
    case Kind::product: return law_of_product(expr, symbols);
    case Kind::power: return law_of_power(expr, symbols);
    case Kind::sum: return law_of_sum(expr, symbols);
    default: return std::nullopt;
  }
}

std::optional<Rational> homogeneity(const Expr& expr, const std::string& symbol) {
  switch (expr.kind()) {
    case Kind::number:
    case Kind::constant: return Rational(0);
    case Kind::symbol: return Rational(expr.name() == symbol ? 1 : 0);
    case Kind::sum: return shared_degree(expr.operands(), symbol);
    case Kind::product: {
      Rational total = 0;
      for (const Expr& factor : expr.operands()) {
        const DegreeOf degree = homogeneity(factor, symbol);
        if (!degree) return std::nullopt;
        total = total + *degree;
      }
      return total;
    }
    case Kind::power: return degree_of_power(expr, symbol);
    case Kind::function: break;
  }
  return degree_of_function(expr, symbol);
}

}  // namespace scalecalc
