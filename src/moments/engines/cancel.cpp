#include "moments/engines/cancel.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "moments/engines/formula.hpp"

namespace scalecalc::moments {
namespace {

constexpr std::size_t kTerms = 12;   ///< of sums that are looked at
constexpr std::size_t kNodes = 600;  ///< of what is multiplied out

std::size_t nodes(const Expr& expr) {
  std::size_t count = 1;
  for (const Expr& operand : expr.operands()) count += nodes(operand);
  return count;
}

std::vector<Expr> terms_of(const Expr& expr) {
  return expr.kind() == Expr::Kind::sum ? expr.operands() : std::vector<Expr>{expr};
}
std::vector<Expr> factors_of(const Expr& expr) {
  return expr.kind() == Expr::Kind::product ? expr.operands() : std::vector<Expr>{expr};
}

bool is_below(const Expr& factor) {
  return factor.kind() == Expr::Kind::power && factor.operands()[0].kind() == Expr::Kind::sum &&
         factor.operands()[1].is_number() && factor.operands()[1].number() == Rational(-1);
}

/// Sums that stand below some term.
std::vector<Expr> denominators(const std::vector<Expr>& terms) {
  std::vector<Expr> found;
  for (const Expr& term : terms)
    for (const Expr& factor : factors_of(term)) {
      if (!is_below(factor)) continue;
      const Expr& base = factor.operands()[0];
      if (std::find(found.begin(), found.end(), base) == found.end()) found.push_back(base);
    }
  return found;
}

/// X with total = X * sum, when X is the ratio of two of their terms.
std::optional<Expr> quotient(const Expr& total, const Expr& sum) {
  const std::vector<Expr> above = terms_of(total), below = terms_of(sum);
  if (above.size() > kTerms || below.size() > kTerms) return std::nullopt;
  for (const Expr& term : below) {
    const Expr ratio = above.front() / term;
    if (expand(ratio * sum) == total) return ratio;
  }
  return std::nullopt;
}

Expr whole_or_sum(const Expr& sum) {
  for (const Expr& below : denominators(sum.operands())) {
    Expr over = 0, apart = 0;
    for (const Expr& term : sum.operands()) {
      const std::vector<Expr> factors = factors_of(term);
      const bool has = std::any_of(factors.begin(), factors.end(), [&](const Expr& factor) {
        return is_below(factor) && factor.operands()[0] == below;
      });
      (has ? over : apart) = (has ? over : apart) + (has ? term * below : term);
    }
    if (const auto whole = quotient(expand(over), expand(below))) return cancelled(*whole + apart);
  }
  return sum;
}

Expr of_sum(const Expr& sum) {
  if (sum.operands().size() > kTerms || nodes(sum) > kNodes) return sum;
  try {
    return whole_or_sum(sum);
  } catch (const Error&) {  // past the bounds of an expression, once multiplied out
    return sum;
  }
}

}  // namespace

Expr cancelled(const Expr& expr) {
  const Expr inner = rebuilt(expr, cancelled);
  return inner.kind() == Expr::Kind::sum ? of_sum(inner) : inner;
}

}  // namespace scalecalc::moments
