#include <fmt/format.h>

#include <cmath>
#include <set>

#include "claims/judge.hpp"
#include "symbolic/canonical.hpp"
#include "symbolic/text.hpp"

namespace scalecalc::claims {
namespace {

using Verdict = MethodResult::Verdict;
using Kind = Expr::Kind;

constexpr int sample_points = 40;
constexpr std::size_t shown_length = 160;

void collect_symbols(const Expr& expr, std::set<std::string>& names) {
  if (expr.kind() == Kind::symbol) names.insert(expr.name());
  for (const Expr& operand : expr.operands()) collect_symbols(operand, names);
}
std::set<std::string> symbols_of(const Expr& expr) {
  std::set<std::string> names;
  collect_symbols(expr, names);
  return names;
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

/// A number of (0, 1) whose digits are those of `index` in `base`, turned round.
double van_der_corput(int index, int base) {
  double value = 0, place = 1;
  for (; index > 0; index /= base) value += (index % base) * (place /= base);
  return value;
}

double within_domain(const Domain& domain, double share) {
  switch (domain.kind) {
    case Domain::Kind::integer: return 1 + std::floor(63 * share);
    case Domain::Kind::positive: return std::exp2(6 * share - 3);
    case Domain::Kind::real: {
      const double half = 2 * share - 1;
      return half < 0 ? -std::exp2(-12 * half - 6) : std::exp2(12 * half - 6);
    }
    case Domain::Kind::interval: break;
  }
  const double low = evaluate(domain.low), high = evaluate(domain.high);
  return low + (high - low) * share;
}

Bindings point_of(const std::set<std::string>& names, const std::map<std::string, Domain>& domains,
                  int index) {
  constexpr int bases[] = {2, 3, 5, 7, 11, 13, 17, 19};
  Bindings point;
  int which = 0;
  for (const std::string& name : names) {
    const auto domain = domains.find(name);
    point[name] = within_domain(domain == domains.end() ? Domain{} : domain->second,
                                van_der_corput(index + 1, bases[which++ % 8]));
  }
  return point;
}

std::string describe(const Bindings& point) {
  std::string text;
  for (const auto& [name, value] : point)
    text += fmt::format("{}{} = {:.6g}", text.empty() ? "" : ", ", name, value);
  return text;
}

/// Whether the number `value(point)` satisfies `right` at every point.
template <class Holds>
Judgement at_points(const std::set<std::string>& names,
                    const std::map<std::string, Domain>& domains, Holds holds) {
  for (int index = 0; index < sample_points; ++index) {
    const Bindings point = point_of(names, domains, index);
    if (!holds(point)) return {Verdict::fails, false, "fails at " + describe(point)};
  }
  return {Verdict::holds, false, fmt::format("checked at {} points", sample_points)};
}

/// Intervals are stretched over the real line, so that random values of a symbol stay within.
Expr stretched(const Expr& expr, const std::map<std::string, Domain>& domains) {
  std::map<std::string, Expr> values;
  for (const auto& [name, domain] : domains) {
    if (domain.kind != Domain::Kind::interval) continue;
    const Expr w = Expr::symbol(name + "__stretched", Assumption::real);
    const Expr unit = w / sqrt(Expr(1) + w * w);
    values.emplace(
        name, (domain.low + domain.high) / Expr(2) + (domain.high - domain.low) / Expr(2) * unit);
  }
  return values.empty() ? expr : substitute(expr, values);
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

Judgement judge_equality(const Expr& left, const Expr& right,
                         const std::map<std::string, Domain>& domains) {
  Equality result = equal(left, right);
  if (result.method == Equality::Method::numeric) {
    const Expr difference = expand(plainly(left) - plainly(right));
    if (difference.is_zero()) return proved(true, "proved: same canonical form");
    result = equal(stretched(left, domains), stretched(right, domains));
  }
  if (result.verdict == Equality::Verdict::undecided) return {Verdict::open, false, "undecided"};
  const bool holds = result.verdict == Equality::Verdict::equal;
  const bool canonical = result.method == Equality::Method::canonical;
  const bool constants = symbols_of(left).empty() && symbols_of(right).empty();
  // A certain enclosure without 0 is a proof; equal digits are none.
  const bool proof = canonical || !holds;
  std::string how =
      canonical ? (holds ? "proved: same canonical form" : "proved different") : result.describe();
  if (!canonical && holds && !constants) how = "checked: " + how;
  return {holds ? Verdict::holds : Verdict::fails, proof, how};
}

Judgement judge_order(Relation relation, const Expr& left, const Expr& right,
                      const std::map<std::string, Domain>& domains) {
  const Expr difference = left - right;
  const std::set<std::string> names = symbols_of(difference);
  if (names.empty()) {
    const std::optional<int> sign = sign_of(difference);
    if (!sign) return {Verdict::open, false, "too close to tell"};
    return proved(satisfies(relation, *sign), "proved: the sign of the difference");
  }
  const Expr expanded = expand(difference);
  if (difference.is_positive() || expanded.is_positive())
    return proved(satisfies(relation, 1), "proved: the difference is positive");
  if ((-difference).is_positive() || (-expanded).is_positive())
    return proved(satisfies(relation, -1), "proved: the difference is negative");
  return at_points(names, domains, [&](const Bindings& point) {
    const double value = evaluate(difference, point);
    return satisfies(relation, value > 0 ? 1 : value < 0 ? -1 : 0);
  });
}

/// |left - right| <= amount (times |right|).
Judgement judge_tolerance(const Tolerance& within, const Expr& left, const Expr& right,
                          const std::map<std::string, Domain>& domains) {
  const Expr difference = Expr::function("abs", {left - right});
  const Expr allowed =
      within.relative ? Expr(within.amount) * Expr::function("abs", {right}) : Expr(within.amount);
  const Expr room = allowed - difference;
  const std::set<std::string> names = symbols_of(room);
  if (!names.empty())
    return at_points(names, domains, [&](const Bindings& at) { return evaluate(room, at) >= 0; });
  const std::optional<int> sign = sign_of(room);
  if (!sign) return {Verdict::open, false, "too close to tell"};
  return proved(*sign >= 0, "proved: the sign of what is left of the tolerance");
}

/// Half a unit of the last digit, or the digits themselves where dots follow.
Judgement judge_digits(const Written& written, const Expr& left) {
  if (!symbols_of(left).empty()) return {Verdict::open, false, "a symbol is left"};
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

Judgement judge_formulas(const Assertion& assertion, const Expr& left, const Expr& right,
                         const std::map<std::string, Domain>& domains) {
  if (assertion.within) return judge_tolerance(*assertion.within, left, right, domains);
  if (assertion.relation == Relation::about) return judge_digits(*assertion.written, left);
  if (assertion.relation == Relation::equal) return judge_equality(left, right, domains);
  return judge_order(assertion.relation, left, right, domains);
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
  text = symbolic::shortened(text, shown_length);
  if (left.kind() != Kind::sum && right.kind() != Kind::sum && !left.is_zero() && !right.is_zero())
    text += ", left/right = " + symbolic::shortened(to_string(left / right), shown_length);
  return text;
}

}  // namespace scalecalc::claims
