#pragma once

#include <map>
#include <optional>
#include <string>

#include "claims/language.hpp"
#include "claims/sample.hpp"
#include "claims/scope.hpp"
#include "scalecalc/claims.hpp"
#include "scalecalc/gaussian.hpp"

/// Whether an assertion holds of two sides that are known.
namespace scalecalc::claims {

struct Judgement {
  MethodResult::Verdict verdict = MethodResult::Verdict::open;
  bool proved = false;
  std::string how;
  /// Of what is tried at points: how many had a value, where it fails or comes closest to failing,
  /// and both sides there.
  int points = 0;
  Values worst = {};
  std::optional<double> left = {}, right = {};
};

/// Of formulas: canonical forms and signs first, else values at points of the symbols' domains.
Judgement judge_formulas(const Assertion& assertion, const Expr& left, const Expr& right,
                         const std::map<std::string, Domain>& domains);
/// At points of the symbols' domains, by certain enclosures; bounds look for their worst point.
Judgement judge_sampled(const Assertion& assertion, const Expr& left, const Expr& right,
                        const std::vector<SymbolDomain>& symbols);
/// What is left of the tolerance: of 0 or more it holds.
Expr room_of(const Tolerance& within, const Expr& left, const Expr& right);
/// Whether a relation is satisfied by sides of which left - right has this sign.
bool satisfies(Relation relation, int sign_of_difference);
struct NumberRules {
  /// The share to which equal sides must be known, to be called equal.
  double least_precision = 1e-9;
  /// At a point far out, sides that cannot be told apart may still be in a strict order.
  bool ordinary = true;
};
/// Of numbers with errors: absolute for quadrature, standard errors where they are sampled. The
/// magnitude is what both sides add up, each term taken positive; what is left after cancellation
/// is known to that.
Judgement judge_numbers(const Assertion& assertion, const Estimate& left, const Estimate& right,
                        double magnitude, ClaimMethod method, const NumberRules& rules);
/// How much is left of a bound, as a share of the sides or of the tolerance; of an equality, minus
/// the distance. Negative where it does not hold.
double room_of_numbers(const Assertion& assertion, double left, double right);
/// left - right, simplified; of two products also their ratio.
std::string describe_difference(const Expr& left, const Expr& right);

}  // namespace scalecalc::claims
