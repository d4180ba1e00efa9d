#include <algorithm>

#include "symbolic/big.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::symbolic {
namespace {

using Kind = Expr::Kind;

struct Flattened {
  Rational number;
  std::vector<Scaled> terms;

  void take(const Expr& term) {
    if (term.is_number()) {
      number = number + term.number();
    } else if (term.kind() == Kind::sum) {
      for (const Expr& inner : term.operands()) take(inner);
    } else {
      terms.push_back(split_coefficient(term));
    }
  }
};

}  // namespace

Scaled split_coefficient(const Expr& expr) {
  if (expr.is_number()) return {expr.number(), 1};
  if (expr.kind() != Kind::product || !expr.operands()[0].is_number()) return {1, expr};
  const std::vector<Expr>& factors = expr.operands();
  if (factors.size() == 2) return {factors[0].number(), factors[1]};
  return {factors[0].number(), raw_product({factors.begin() + 1, factors.end()})};
}

Expr scaled(const Rational& coefficient, const Expr& rest) {
  if (coefficient.is_one()) return rest;
  if (rest.is_one()) return coefficient;
  if (rest.kind() != Kind::product) return raw_product({coefficient, rest});
  std::vector<Expr> factors{coefficient};
  factors.insert(factors.end(), rest.operands().begin(), rest.operands().end());
  return raw_product(std::move(factors));
}

Expr add(const std::vector<Expr>& terms) {
  Flattened flat;
  for (const Expr& term : terms) flat.take(term);
  std::sort(flat.terms.begin(), flat.terms.end(),
            [](const Scaled& a, const Scaled& b) { return a.rest < b.rest; });
  std::vector<Expr> result;
  if (!flat.number.is_zero()) result.push_back(flat.number);
  for (std::size_t first = 0, last; first < flat.terms.size(); first = last) {
    Rational coefficient = flat.terms[first].coefficient;
    for (last = first + 1;
         last < flat.terms.size() && flat.terms[last].rest == flat.terms[first].rest; ++last) {
      coefficient = coefficient + flat.terms[last].coefficient;
    }
    if (!coefficient.is_zero()) result.push_back(scaled(coefficient, flat.terms[first].rest));
  }
  if (result.empty()) return 0;
  return result.size() == 1 ? result[0] : raw_sum(std::move(result));
}

Content split_content(const Expr& sum, bool signed_content) {
  Rational content;
  int balance = 0;
  std::vector<Scaled> terms;
  for (const Expr& term : sum.operands()) {
    terms.push_back(split_coefficient(term));
    const Rational& coefficient = terms.back().coefficient;
    content = common_divisor(content, coefficient);
    balance += coefficient.sign();
  }
  if (balance == 0) balance = terms[0].coefficient.sign();
  if (signed_content && balance < 0) content = -content;
  if (content.is_one()) return {1, sum};
  std::vector<Expr> primitive;
  for (const Scaled& term : terms)
    primitive.push_back(scaled(term.coefficient / content, term.rest));
  return {content, raw_sum(std::move(primitive))};
}

bool prefers_opposite(const Expr& expr) {
  if (expr.kind() == Kind::sum) return split_content(expr, true).content.sign() < 0;
  return split_coefficient(expr).coefficient.sign() < 0;
}

}  // namespace scalecalc::symbolic

namespace scalecalc {

Expr operator+(const Expr& a, const Expr& b) {
  return symbolic::add({a, b});
}
Expr operator-(const Expr& a, const Expr& b) {
  return symbolic::add({a, -b});
}

}  // namespace scalecalc
