#include <fmt/format.h>

#include <map>

#include "base/text.hpp"
#include "claims/judge.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::claims {
namespace {

using Verdict = MethodResult::Verdict;
using Kind = Expr::Kind;

constexpr std::size_t formula_length = 160;

void collect_symbols(const Expr& expr, std::map<std::string, Assumption>& symbols) {
  if (expr.kind() == Kind::symbol) {
    Assumption& known = symbols.try_emplace(expr.name(), expr.assumption()).first->second;
    if (expr.assumption() == Assumption::positive) known = Assumption::positive;
  }
  for (const Expr& operand : expr.operands()) collect_symbols(operand, symbols);
}

Judgement proved(bool holds, const std::string& how) {
  return {holds ? Verdict::holds : Verdict::fails, true, how};
}

/// The sign of a constant; nothing where it cannot be told from 0.
std::optional<int> sign_of(const Expr& constant) {
  if (constant.is_number()) return constant.number().sign();
  try {
    return evaluate_digits(constant, 15).front() == '-' ? -1 : 1;
  } catch (const Error&) {
    if (equal(constant, 0).verdict == Equality::Verdict::equal) return 0;
    return std::nullopt;
  }
}

/// relu(a*x) is a*relu(x) for positive a.
Expr without_positive_factors(const Expr& argument) {
  if (argument.kind() != Kind::product) return Expr::function("relu", {argument});
  Expr positive = 1, rest = 1;
  for (const Expr& factor : argument.operands()) {
    Expr& part = factor.is_positive() ? positive : rest;
    part = part * factor;
  }
  return positive * Expr::function("relu", {rest});
}

/// What is something else in disguise, written as that: acos by asin, erfc and Phi by erf, (1/2)^l
/// by 2^(-l).
Expr plainly(const Expr& expr) {
  if (expr.operands().empty()) return expr;
  std::vector<Expr> parts;
  for (const Expr& operand : expr.operands()) parts.push_back(plainly(operand));
  if (expr.kind() == Kind::power && parts[0].is_number() && parts[0].is_positive() &&
      !parts[1].is_number())
    return pow(parts[0].number().numerator(), parts[1]) *
           pow(parts[0].number().denominator(), -parts[1]);
  if (expr.kind() != Kind::function) return symbolic::rebuild(expr, std::move(parts));
  const std::string& name = expr.name();
  if (name == "relu") return without_positive_factors(parts[0]);
  if (name == "acos") return Expr::pi() / Expr(2) - Expr::function("asin", parts);
  if (name == "erfc") return Expr(1) - Expr::function("erf", parts);
  if (name == "Phi") return (Expr(1) + Expr::function("erf", {parts[0] / sqrt(Expr(2))})) / Expr(2);
  return Expr::function(name, std::move(parts));
}

/// Symbols of which nothing is declared are what their formula takes them for.
std::vector<SymbolDomain> domains_of(const Expr& left, const Expr& right,
                                     const std::map<std::string, Domain>& declared) {
  std::map<std::string, Assumption> symbols;
  collect_symbols(left, symbols);
  collect_symbols(right, symbols);
  std::vector<SymbolDomain> result;
  for (const auto& [name, assumption] : symbols) {
    const auto known = declared.find(name);
    Domain domain;
    if (assumption == Assumption::real) domain.kind = Domain::Kind::real;
    result.emplace_back(name, known == declared.end() ? domain : known->second);
  }
  return result;
}

/// Of sides that may have symbols: nothing where only points can tell.
std::optional<Judgement> equality_of_forms(const Expr& left, const Expr& right) {
  const Expr difference = left - right;
  if (difference.is_zero()) return proved(true, "proved: same canonical form");
  if (difference.is_number())
    return proved(false, "proved different: the difference is a number other than 0");
  try {
    if (expand(difference).is_zero() || expand(plainly(left) - plainly(right)).is_zero())
      return proved(true, "proved: same canonical form");
  } catch (const Error&) {
    // Too large to be multiplied out: the points decide.
  }
  return std::nullopt;
}

/// Equal digits are no proof; a certain enclosure without 0 is one.
Judgement judge_constants(const Expr& left, const Expr& right) {
  const Equality result = equal(left, right);
  if (result.verdict == Equality::Verdict::undecided) return {Verdict::open, false, "undecided"};
  const bool holds = result.verdict == Equality::Verdict::equal;
  const bool canonical = result.method == Equality::Method::canonical;
  return {holds ? Verdict::holds : Verdict::fails, canonical || !holds, result.describe()};
}

Judgement judge_equality(const Expr& left, const Expr& right, const std::vector<SymbolDomain>& at,
                         const Assertion& assertion) {
  if (const auto judged = equality_of_forms(left, right)) return *judged;
  return at.empty() ? judge_constants(left, right) : judge_sampled(assertion, left, right, at);
}

/// By what is positive whatever its symbols are.
std::optional<Judgement> order_of_forms(Relation relation, const Expr& difference) {
  const auto known = [&](const Expr& form) -> std::optional<Judgement> {
    if (form.is_positive())
      return proved(satisfies(relation, 1), "proved: the difference is positive");
    if ((-form).is_positive())
      return proved(satisfies(relation, -1), "proved: the difference is negative");
    if (form.is_zero()) return proved(satisfies(relation, 0), "proved: the sides are equal");
    return std::nullopt;
  };
  if (const auto judged = known(difference)) return judged;
  try {
    return known(expand(difference));
  } catch (const Error&) {
    return std::nullopt;
  }
}

Judgement judge_order(const Expr& left, const Expr& right, const std::vector<SymbolDomain>& at,
                      const Assertion& assertion) {
  const Expr difference = left - right;
  if (at.empty()) {
    const std::optional<int> sign = sign_of(difference);
    if (!sign) return {Verdict::open, false, "too close to tell"};
    return proved(satisfies(assertion.relation, *sign), "proved: the sign of the difference");
  }
  if (const auto judged = order_of_forms(assertion.relation, difference)) return *judged;
  return judge_sampled(assertion, left, right, at);
}

/// |left - right| <= amount (times |right|).
Judgement judge_tolerance(const Expr& left, const Expr& right, const std::vector<SymbolDomain>& at,
                          const Assertion& assertion) {
  if (!at.empty()) {
    if ((left - right).is_zero()) return proved(true, "proved: same canonical form");
    return judge_sampled(assertion, left, right, at);
  }
  const std::optional<int> sign = sign_of(room_of(*assertion.within, left, right));
  if (!sign) return {Verdict::open, false, "too close to tell"};
  return proved(*sign >= 0, "proved: the sign of what is left of the tolerance");
}

/// Half a unit of the last digit, or the digits themselves where dots follow.
Judgement judge_digits(const Written& written, const Expr& left) {
  std::map<std::string, Assumption> symbols;
  collect_symbols(left, symbols);
  if (!symbols.empty()) return {Verdict::open, false, "a symbol is left"};
  const Rational half = written.unit * Rational(1, 2);
  const bool negative = written.value.sign() < 0;
  Rational low = written.value - half, high = written.value + half;
  if (written.truncated) {
    low = negative ? written.value - written.unit : written.value;
    high = negative ? written.value : written.value + written.unit;
  }
  const std::optional<int> above = sign_of(left - Expr(low)), below = sign_of(Expr(high) - left);
  if (!above || !below) return {Verdict::open, false, "too close to tell"};
  return proved(*above >= 0 && *below >= 0, "proved: the digits of the value");
}

}  // namespace

Expr room_of(const Tolerance& within, const Expr& left, const Expr& right) {
  const Expr allowed =
      within.relative ? Expr(within.amount) * Expr::function("abs", {right}) : Expr(within.amount);
  return allowed - Expr::function("abs", {left - right});
}

bool satisfies(Relation relation, int sign_of_difference) {
  switch (relation) {
    case Relation::equal:
    case Relation::about: return sign_of_difference == 0;
    case Relation::less: return sign_of_difference < 0;
    case Relation::at_most: return sign_of_difference <= 0;
    case Relation::greater: return sign_of_difference > 0;
    case Relation::at_least: break;
  }
  return sign_of_difference >= 0;
}

Judgement judge_formulas(const Assertion& assertion, const Expr& left, const Expr& right,
                         const std::map<std::string, Domain>& domains) {
  const std::vector<SymbolDomain> at = domains_of(left, right, domains);
  if (assertion.within) return judge_tolerance(left, right, at, assertion);
  if (assertion.relation == Relation::about) return judge_digits(*assertion.written, left);
  if (assertion.relation == Relation::equal) return judge_equality(left, right, at, assertion);
  return judge_order(left, right, at, assertion);
}

std::string describe_difference(const Expr& left, const Expr& right) {
  const Expr difference = left - right;
  if (difference.is_zero()) return "0";
  std::string text = to_string(difference);
  try {
    const std::string expanded = to_string(expand(difference));
    if (expanded.size() < text.size()) text = expanded;
  } catch (const Error&) {
    // Too large to be multiplied out: as it is.
  }
  text = base::shortened(text, formula_length);
  if (left.kind() != Kind::sum && right.kind() != Kind::sum && !left.is_zero() && !right.is_zero())
    text += ", left/right = " + base::shortened(to_string(left / right), formula_length);
  return text;
}

}  // namespace scalecalc::claims
