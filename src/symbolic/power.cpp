#include <algorithm>

#include "symbolic/canonical.hpp"

namespace scalecalc::symbolic {
namespace {

using Kind = Expr::Kind;

bool is_integer(const Expr& expr) {
  return expr.is_number() && expr.number().is_integer();
}
bool is_even(const Expr& expr) {
  return is_integer(expr) && (expr.number() / 2).is_integer();
}

/// c^(n + a) = c^n c^a for a number c > 0, so that 2^(1 + x) and 2*2^x are one.
Expr power_of_number(const Expr& base, const Expr& exponent) {
  if (exponent.is_number()) return number_power(base.number(), exponent.number());
  if (base.is_zero()) return exponent.is_positive() ? Expr(0) : raw_power(base, exponent);
  if (exponent.kind() != Kind::sum || !exponent.operands()[0].is_number() ||
      base.number().sign() < 0) {
    return raw_power(base, exponent);
  }
  const std::vector<Expr>& terms = exponent.operands();
  const Expr rest = terms.size() == 2 ? terms[1] : raw_sum({terms.begin() + 1, terms.end()});
  return multiply({pow(base, terms[0]), raw_power(base, rest)});
}

/// Zero at most where a symbol is: x^2, |x|. relu(x) is not.
bool is_generically_positive(const Expr& factor) {
  if (factor.is_positive()) return true;
  const Expr& base =
      is_function(base_of(factor), "abs") ? base_of(factor).operands()[0] : base_of(factor);
  return is_nonnegative(factor) && base.kind() == Kind::symbol;
}

/// (a b)^e = a^e b^e for a > 0 or an integer e, and for a >= 0 and b >= 0. What may be negative
/// stays together, with what may be 0 beside it: (relu(x) y)^(1/2) is 0 where relu(x) is.
Expr power_of_product(const Expr& base, const Expr& exponent) {
  const bool all = is_integer(exponent) ||
                   std::all_of(base.operands().begin(), base.operands().end(), is_nonnegative);
  std::vector<Expr> outside, inside;
  for (const Expr& factor : base.operands()) {
    if (all || is_generically_positive(factor)) {
      outside.push_back(pow(factor, exponent));
    } else if (factor.is_number() && !(factor.number() == Rational(-1))) {
      outside.push_back(pow(-factor, exponent));
      inside.push_back(-1);
    } else {
      inside.push_back(factor);
    }
  }
  if (outside.empty()) return raw_power(base, exponent);
  if (!inside.empty()) outside.push_back(pow(multiply(std::move(inside)), exponent));
  return multiply(std::move(outside));
}

/// (b^f)^e. For a b of unknown sign, b^f with an even integer f is |b|^f, and any other rational f
/// is real for b >= 0 alone or keeps the sign of b, so that the exponents multiply.
Expr power_of_power(const Expr& base, const Expr& exponent) {
  const Expr &inner = base.operands()[0], &first = base.operands()[1];
  if (is_integer(exponent) || is_nonnegative(inner)) return pow(inner, first * exponent);
  if (is_even(first)) return pow(Expr::function("abs", {inner}), first * exponent);
  if (first.is_number()) return pow(inner, first * exponent);
  return raw_power(base, exponent);
}

Expr power_of_sum(const Expr& base, const Expr& exponent) {
  if (!exponent.is_number()) return raw_power(base, exponent);
  const Content split = split_content(base, is_integer(exponent));
  if (split.content.is_one()) return raw_power(base, exponent);
  return multiply({pow(split.content, exponent), raw_power(split.primitive, exponent)});
}

Expr power_of_function(const Expr& base, const Expr& exponent) {
  if (base.name() == "exp") return exp(base.operands()[0] * exponent);
  if (base.name() == "abs" && is_even(exponent)) return pow(base.operands()[0], exponent);
  return raw_power(base, exponent);
}

}  // namespace
}  // namespace scalecalc::symbolic

namespace scalecalc {

Expr pow(const Expr& base, const Expr& exponent) {
  using namespace symbolic;
  if (exponent.is_one()) return base;
  if (exponent.is_zero() && !base.is_zero()) return 1;
  if (base.is_one()) return 1;
  switch (base.kind()) {
    case Expr::Kind::number: return power_of_number(base, exponent);
    case Expr::Kind::product: return power_of_product(base, exponent);
    case Expr::Kind::power: return power_of_power(base, exponent);
    case Expr::Kind::sum: return power_of_sum(base, exponent);
    case Expr::Kind::function: return power_of_function(base, exponent);
    default: return raw_power(base, exponent);
  }
}

Expr sqrt(const Expr& value) {
  return pow(value, Rational(1, 2));
}
Expr exp(const Expr& value) {
  return Expr::function("exp", {value});
}
Expr log(const Expr& value) {
  return Expr::function("log", {value});
}

}  // namespace scalecalc
