#include <algorithm>

#include "gaussian/closed_form/polynomial.hpp"
#include "symbolic/big.hpp"

namespace scalecalc::gaussian {
namespace {

/// The common factor of the coefficients of the powers of a variable.
Polynomial content_in(const Polynomial& value, std::size_t variable) {
  Polynomial content;
  for (int power = value.degree(variable); power >= 0 && !content.is_one(); --power) {
    const Polynomial next = value.coefficient(variable, power);
    if (!next.is_zero()) content = common_factor(content, next);
  }
  return content;
}

/// The pseudo-remainder of a by b: a remainder that needs no division in the coefficients.
Polynomial pseudo_remainder(Polynomial a, const Polynomial& b, std::size_t variable) {
  const int degree = b.degree(variable);
  const Polynomial leading = b.coefficient(variable, degree), x = Polynomial::variable(variable);
  while (!a.is_zero() && a.degree(variable) >= degree) {
    const int above = a.degree(variable) - degree;
    Polynomial step = a.coefficient(variable, a.degree(variable));
    for (int n = 0; n < above; ++n) step = step * x;
    a = a * leading - step * b;
  }
  return a;
}

/// Whether the polynomial has degree 1 in a variable; being without content there, it has no factor
/// but itself.
bool is_linear(const Polynomial& value) {
  for (std::size_t k = 0; k < Polynomial::most_variables; ++k) {
    if (value.degree(k) == 1 && content_in(value, k).is_one()) return true;
  }
  return false;
}

}  // namespace

PrimitivePart primitive_part(const Polynomial& value) {
  if (value.is_zero()) return {0, 0};
  Rational content;
  for (const auto& [exponents, coefficient] : value.terms()) {
    content = symbolic::common_divisor(content, coefficient);
  }
  if (value.terms().rbegin()->second.sign() < 0) content = -content;
  return {content, value * Polynomial(Rational(1) / content)};
}

/// Euclid's algorithm on primitive pseudo-remainders in the last variable, the contents apart.
Polynomial common_factor(const Polynomial& a, const Polynomial& b) {
  if (a.is_zero()) return primitive_part(b).part;
  if (b.is_zero()) return primitive_part(a).part;
  if (a.is_constant() || b.is_constant()) return 1;
  const std::size_t variable = std::max(*a.main_variable(), *b.main_variable());
  if (a.degree(variable) == 0) return common_factor(a, content_in(b, variable));
  if (b.degree(variable) == 0) return common_factor(content_in(a, variable), b);
  const Polynomial content_a = content_in(a, variable), content_b = content_in(b, variable);
  Polynomial x = *divide(a, content_a), y = *divide(b, content_b);
  if (x.degree(variable) < y.degree(variable)) std::swap(x, y);
  while (!y.is_zero() && y.degree(variable) > 0) {
    Polynomial rest = pseudo_remainder(x, y, variable);
    x = std::move(y);
    y = rest.is_zero() ? rest : primitive_part(*divide(rest, content_in(rest, variable))).part;
  }
  const Polynomial common = y.is_zero() ? x : Polynomial(1);
  return primitive_part(common_factor(content_a, content_b) * common).part;
}

Polynomial common_factor(Polynomial a, const std::vector<Factor>& factors) {
  Polynomial common = 1;
  for (const auto& [base, power] : factors) {
    Polynomial next = base;
    for (int n = 0; n < power && !next.is_constant(); ++n) {
      if (!is_linear(next)) next = common_factor(a, next);
      const std::optional<Polynomial> quotient = divide(a, next);
      if (!quotient) break;
      a = *quotient;
      common = common * next;
    }
  }
  return common;
}

/// Yun's algorithm in the last variable, and again on the content.
std::vector<Factor> square_free(const Polynomial& value) {
  std::vector<Factor> factors;
  if (value.is_constant()) return factors;
  const std::size_t variable = *value.main_variable();
  const Polynomial content = content_in(value, variable);
  factors = square_free(content);
  const Polynomial whole = *divide(value, content), slope = whole.derivative(variable);
  const Polynomial repeated = common_factor(whole, slope);
  Polynomial b = *divide(whole, repeated);
  Polynomial d = *divide(slope, repeated) - b.derivative(variable);
  for (int power = 1; !b.is_constant(); ++power) {
    const Polynomial factor = common_factor(b, d);
    if (!factor.is_constant()) factors.push_back({factor, power});
    b = *divide(b, factor);
    d = *divide(d, factor) - b.derivative(variable);
  }
  return factors;
}

void CoprimeBase::add(const Polynomial& value) {
  for (const Factor& factor : square_free(primitive_part(value).part)) refine(factor.base);
}

void CoprimeBase::refine(Polynomial value) {
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const Polynomial common = common_factor(members_[k], value);
    if (common.is_constant()) continue;
    const Polynomial rest = *divide(members_[k], common), other = *divide(value, common);
    members_[k] = common;
    if (!rest.is_constant()) members_.push_back(primitive_part(rest).part);
    if (!other.is_constant()) refine(primitive_part(other).part);
    return;
  }
  if (!value.is_constant()) members_.push_back(std::move(value));
}

CoprimeBase::Factored CoprimeBase::factor(const Polynomial& value) const {
  Factored result;
  const PrimitivePart primitive = primitive_part(value);
  result.content = primitive.content;
  if (value.is_zero()) return result;
  Polynomial rest = primitive.part;
  for (const Polynomial& member : members_) {
    int power = 0;
    for (auto quotient = divide(rest, member); quotient; quotient = divide(rest, member)) {
      rest = *quotient;
      ++power;
    }
    if (power > 0) result.factors.push_back({member, power});
  }
  if (!rest.is_constant()) result.factors.push_back({rest, 1});
  if (rest.is_constant() && !rest.is_zero()) result.content = result.content * rest.constant();
  return result;
}

}  // namespace scalecalc::gaussian
