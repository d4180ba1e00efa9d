#include "activation/roots.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "activation/rewrite.hpp"
#include "activation/root_search.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::activation_room {
namespace {

using Kind = Expr::Kind;

Expr at_zero(const Expr& expr) {
  return substitute(expr, {{"x", 0}});
}

/// b + a x
std::vector<Expr> linear_roots(const Expr& a, const Expr& b) {
  return a.is_zero() ? std::vector<Expr>{} : std::vector<Expr>{-b / a};
}

/// c + b x + a x^2
std::vector<Expr> quadratic_roots(const Expr& a, const Expr& b, const Expr& c) {
  const Expr discriminant = expand(b * b - 4 * a * c);
  if (discriminant.is_zero()) return {-b / (2 * a)};
  if (sign_at(discriminant, real(0.0)) <= 0) return {};
  const Expr root = sqrt(discriminant);
  return {(-b - root) / (2 * a), (-b + root) / (2 * a)};
}

bool is_free(const Expr& expr) {
  return !expr.contains("x");
}

/// Functions that vanish just where their argument does.
bool vanishes_with_argument(const Expr& expr) {
  constexpr std::string_view names[] = {"tanh", "sinh", "erf",  "atan",
                                        "asin", "abs",  "gelu", "silu"};
  return expr.kind() == Kind::function &&
         std::find(std::begin(names), std::end(names), expr.name()) != std::end(names);
}

/// u - log(-c/k), which has the roots of c + k exp(u).
std::optional<Expr> without_exponential(const Expr& sum) {
  if (sum.kind() != Kind::sum || sum.operands().size() != 2) return std::nullopt;
  const Expr& c = sum.operands()[0];
  const symbolic::Scaled term = symbolic::split_coefficient(sum.operands()[1]);
  if (!c.is_number() || !symbolic::is_function(term.rest, "exp")) return std::nullopt;
  const Rational ratio = -c.number() / term.coefficient;
  if (ratio.sign() <= 0) return Expr(1);  // no root
  return term.rest.operands()[0] - log(Expr(ratio));
}

std::optional<std::vector<Expr>> exact_roots(const Expr& expr);

std::optional<std::vector<Expr>> roots_of_factors(const Expr& product) {
  std::vector<Expr> all;
  for (const Expr& factor : product.operands()) {
    const auto roots = exact_roots(factor);
    if (!roots) return std::nullopt;
    all.insert(all.end(), roots->begin(), roots->end());
  }
  return all;
}

/// Nothing when the roots have to be searched.
std::optional<std::vector<Expr>> exact_roots(const Expr& expr) {
  if (is_free(expr) || expr.is_positive()) return std::vector<Expr>{};
  if (expr.kind() == Kind::product) return roots_of_factors(expr);
  if (expr.kind() == Kind::power && is_free(expr.operands()[1])) {
    return exact_roots(expr.operands()[0]);
  }
  if (vanishes_with_argument(expr)) return exact_roots(expr.operands()[0]);
  if (const std::optional<Expr> exponent = without_exponential(expr)) return exact_roots(*exponent);
  if (expr.kind() == Kind::sum) {
    const auto other = without_cancellation(expr);
    if (other && other->is_positive()) return std::vector<Expr>{};  // 1 - tanh(x)
  }
  const Expr slope = expand(differentiate(expr, "x"));
  if (is_free(slope)) return linear_roots(slope, at_zero(expr));
  const Expr curvature = expand(differentiate(slope, "x"));
  if (!is_free(curvature)) return std::nullopt;
  return quadratic_roots(curvature / 2, at_zero(slope), at_zero(expr));
}

bool is_rational(const Expr& expr) {
  return expr.is_number();
}

}  // namespace

void sort_roots(std::vector<Root>& roots) {
  constexpr mpfr_prec_t bits = 220;
  constexpr mpfr_exp_t same = -190;
  const auto place = [](const Root& root) { return real(root.where, bits); };
  std::sort(roots.begin(), roots.end(), [&](const Root& a, const Root& b) {
    if (a.at != b.at) return a.at < b.at;
    const int order = mpfr_cmp(place(a).get(), place(b).get());
    return order != 0 ? order < 0 : is_rational(a.where) && !is_rational(b.where);
  });
  const auto coincide = [&](const Root& a, const Root& b) {
    if (a.at != b.at && std::abs(a.at - b.at) > 1e-15 * std::abs(a.at)) return false;
    if (a.where == b.where) return true;
    Real gap(bits);
    mpfr_sub(gap.get(), place(a).get(), place(b).get(), MPFR_RNDN);
    return gap.sign() == 0 ||
           mpfr_get_exp(gap.get()) < same + std::max<mpfr_exp_t>(0, std::ilogb(a.at));
  };
  roots.erase(std::unique(roots.begin(), roots.end(), coincide), roots.end());
}

std::vector<Root> real_roots(const Expr& expr, double low, double high) {
  const auto exact = exact_roots(expr);
  if (!exact) return search_roots(expr, low, high);
  std::vector<Root> roots;
  for (const Expr& where : *exact) {
    const double at = constant_value(where);
    if (at >= low && at <= high) roots.push_back({where, at});
  }
  sort_roots(roots);
  return roots;
}

}  // namespace scalecalc::activation_room
