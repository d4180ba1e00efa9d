#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "claims/judge.hpp"

namespace scalecalc::claims {
namespace {

using Verdict = MethodResult::Verdict;

constexpr double standard_errors = 5;
/// Rounding in the integrands and their inputs: some thousand units in the last place.
constexpr double deterministic = 1e-12;

struct Numbers {
  double left, right, error, magnitude, least_precision;
  bool sampled;
  double scale() const { return std::max(std::abs(left), std::abs(right)); }
  /// How far two equal sides may be apart.
  double slack() const {
    return sampled ? standard_errors * error : deterministic * magnitude + error;
  }
  /// Whether equal sides are known to be so: to a share of them, of a zero to rounding.
  bool is_precise() const {
    const bool of_zero = left == 0 || right == 0;
    return slack() <= least_precision * scale() || (of_zero && slack() <= deterministic);
  }
  double distance() const { return std::abs(left - right); }
};

Judgement verdict(bool holds, const std::string& how) {
  return {holds ? Verdict::holds : Verdict::fails, false, how};
}

std::string distance_text(const Numbers& n) {
  if (n.sampled)
    return n.error > 0 ? fmt::format("{:.2g} standard errors apart", n.distance() / n.error)
                       : "without an error of its own";
  return fmt::format("{:.2g} apart", n.distance());
}

Judgement judge_equality(const Numbers& n) {
  if (!n.sampled && !n.is_precise() && n.distance() <= n.slack())
    return {Verdict::open, false, fmt::format("known only to {:.1g}", n.slack())};
  return verdict(n.distance() <= n.slack(), distance_text(n));
}

Judgement judge_tolerance(const Tolerance& within, const Numbers& n, ClaimMethod method) {
  const double allowed = within.amount.to_double() * (within.relative ? std::abs(n.right) : 1);
  const double slack = method == ClaimMethod::passes ? 0 : n.slack();
  return verdict(n.distance() <= allowed + slack, distance_text(n));
}

Judgement judge_digits(const Written& written, const Numbers& n) {
  const double value = written.value.to_double(), unit = written.unit.to_double();
  double low = value - unit / 2, high = value + unit / 2;
  if (written.truncated) {
    low = value < 0 ? value - unit : value;
    high = value < 0 ? value : value + unit;
  }
  const double slack = n.slack();
  return verdict(n.left >= low - slack && n.left <= high + slack, distance_text(n));
}

/// Strict means strict: two sides that cannot be told apart are not less. Samples refute or leave
/// it open.
Judgement judge_order(Relation relation, const Numbers& n, bool ordinary) {
  const bool less = relation == Relation::less || relation == Relation::at_most;
  const bool strict = relation == Relation::less || relation == Relation::greater;
  const double lead = less ? n.right - n.left : n.left - n.right;
  if (std::abs(lead) > n.slack()) return verdict(lead > 0, distance_text(n));
  if (n.sampled || (strict && !ordinary))
    return {Verdict::open, false, distance_text(n) + ": too close to tell"};
  return verdict(!strict, distance_text(n));
}

}  // namespace

Judgement judge_numbers(const Assertion& assertion, const Estimate& left, const Estimate& right,
                        double magnitude, ClaimMethod method, const NumberRules& rules) {
  const bool sampled = method == ClaimMethod::montecarlo || method == ClaimMethod::passes;
  const Numbers n{left.value, right.value,           left.error + right.error,
                  magnitude,  rules.least_precision, sampled && left.error + right.error > 0};
  if (assertion.within) return judge_tolerance(*assertion.within, n, method);
  if (assertion.relation == Relation::about) return judge_digits(*assertion.written, n);
  if (assertion.relation == Relation::equal) return judge_equality(n);
  return judge_order(assertion.relation, n, rules.ordinary);
}

double room_of_numbers(const Assertion& assertion, double left, double right) {
  const double distance = std::abs(left - right);
  if (assertion.within) {
    const double allowed =
        assertion.within->amount.to_double() * (assertion.within->relative ? std::abs(right) : 1);
    return allowed > 0 ? (allowed - distance) / allowed : -distance;
  }
  const double scale = std::max(std::abs(left), std::abs(right));
  if (scale == 0) return 0;
  switch (assertion.relation) {
    case Relation::less:
    case Relation::at_most: return (right - left) / scale;
    case Relation::greater:
    case Relation::at_least: return (left - right) / scale;
    default: return -distance / scale;
  }
}

}  // namespace scalecalc::claims
