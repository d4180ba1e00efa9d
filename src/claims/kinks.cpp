#include "claims/kinks.hpp"

#include <cmath>
#include <set>

#include "claims/engine.hpp"

namespace scalecalc::claims {
namespace {

constexpr std::size_t most_kinks = 16, most_of_one = 4;

/// What changes its sign at a kink.
void collect(const Expr& expr, std::set<Expr>& found) {
  static const std::set<std::string> bent = {"relu", "abs", "sign", "step"};
  for (const Expr& operand : expr.operands()) collect(operand, found);
  if (expr.kind() != Expr::Kind::function || found.size() >= most_kinks) return;
  if (bent.contains(expr.name())) found.insert(expr.operands()[0]);
  if (expr.name() == "min" || expr.name() == "max")
    for (std::size_t k = 1; k < expr.operands().size(); ++k)
      found.insert(expr.operands()[k] - expr.operands()[0]);
}

double value(const Expr& expr, const Values& at) {
  try {
    return evaluate(expr, in_double(at));
  } catch (const Error&) {
    return std::nan("");
  }
}

/// Between two positive values geometrically, else arithmetically; integers stay integers.
Rational between(const Domain& domain, double a, double b) {
  const double middle = a > 0 && b > 0 ? std::sqrt(a) * std::sqrt(b) : a + (b - a) / 2;
  return Rational::exactly(domain.kind == Domain::Kind::integer ? std::floor(middle) : middle);
}

Values middle_of(const std::vector<SymbolDomain>& symbols, const Values& a, const Values& b) {
  Values middle;
  for (const auto& [name, domain] : symbols)
    middle[name] = between(domain, a.at(name).to_double(), b.at(name).to_double());
  return middle;
}

/// The two sides of a change of sign between a and b.
std::pair<Values, Values> narrowed(const Expr& bend, const std::vector<SymbolDomain>& symbols,
                                   Values a, Values b) {
  constexpr int halvings = 44;
  const bool sign_at_a = value(bend, a) > 0;
  for (int step = 0; step < halvings; ++step) {
    Values middle = middle_of(symbols, a, b);
    if (middle == a || middle == b) break;
    ((value(bend, middle) > 0) == sign_at_a ? a : b) = std::move(middle);
  }
  return {std::move(a), std::move(b)};
}

}  // namespace

std::vector<Values> kink_points(const Expr& formula, const std::vector<SymbolDomain>& symbols,
                                const std::vector<Sample>& samples) {
  std::set<Expr> bends;
  collect(formula, bends);
  std::vector<Values> points;
  for (const Expr& bend : bends) {
    std::size_t count = 0;
    for (std::size_t k = 1; k < samples.size() && count < most_of_one; ++k) {
      const double a = value(bend, samples[k - 1].at), b = value(bend, samples[k].at);
      if (!(a * b < 0)) continue;
      auto [before, behind] = narrowed(bend, symbols, samples[k - 1].at, samples[k].at);
      points.push_back(std::move(before));
      points.push_back(std::move(behind));
      ++count;
    }
  }
  return points;
}

}  // namespace scalecalc::claims
