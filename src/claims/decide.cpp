#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/text.hpp"
#include "claims/claim.hpp"
#include "claims/judge.hpp"
#include "claims/library.hpp"
#include "claims/networks.hpp"
#include "claims/numeric.hpp"

namespace scalecalc::claims {
namespace {

using Verdict = MethodResult::Verdict;

constexpr std::size_t shown_length = 240;

/// What is found by integrals, sampling or passes somewhere in the formula.
bool mentions_any(const Node& node, bool (*is)(const LibraryFunction&)) {
  for (const std::string& name : library_names())
    if (is(*library_function(name)) && mentions(node, name)) return true;
  return false;
}
bool needs_numbers(const Node& node) {
  for (const char* form : {"E", "integral", "root", "largest", "smallest"})
    if (mentions(node, form)) return true;
  return mentions_any(node, [](const LibraryFunction& f) { return f.is_number; });
}
/// Roots and the like of what is sampled would have errors that nobody knows.
bool can_be_sampled(const Node& node) {
  if (node.kind == Node::Kind::expectation) return true;
  if (node.kind == Node::Kind::call) {
    for (const char* form : {"integral", "root", "largest", "smallest", "iterate"})
      if (node.text == form) return false;
    const LibraryFunction* library = library_function(node.text);
    if (library != nullptr && library->is_sampled) return true;
  }
  return std::any_of(node.children.begin(), node.children.end(), can_be_sampled);
}

class Decision {
 public:
  Decision(const Claim& claim, const CheckOptions& options, Networks& networks, Until until)
      : claim_(claim),
        options_(options),
        networks_(networks),
        until_(until),
        numeric_(claim, options, networks) {}

  ClaimResult run() {
    const auto start = std::chrono::steady_clock::now();
    result_ = undecided(claim_);
    for (const ClaimMethod method : {ClaimMethod::symbolic, ClaimMethod::quadrature,
                                     ClaimMethod::montecarlo, ClaimMethod::passes})
      if (applies(method) && !(until_ == Until::refuted && refuted())) attempt(method);
    conclude();
    if (!claim_.finding.empty()) compare_published();
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  bool applies(ClaimMethod method) const {
    if (!claim_.by.empty())
      return std::find(claim_.by.begin(), claim_.by.end(), method) != claim_.by.end();
    switch (method) {
      case ClaimMethod::symbolic: return true;
      case ClaimMethod::quadrature: return uses(claim_, needs_numbers) || result_.methods.empty();
      case ClaimMethod::montecarlo: return uses(claim_, can_be_sampled);
      case ClaimMethod::passes: break;
    }
    return false;
  }

  void attempt(ClaimMethod method) {
    try {
      check_subject(method);
      result_.methods.push_back(method == ClaimMethod::symbolic ? by_formulas()
                                                                : numeric_.run(method, witnesses_));
    } catch (const NotApplicable& none) {
      if (!claim_.by.empty())
        throw PlacedError(ErrorKind::input, to_string(method) + " does not apply: " + none.reason,
                          claim_.place.at(), "leave it out of by");
      result_.skipped.emplace_back(method, none.reason);
    }
  }

  /// Whether the method finds something of its own in the claim.
  void check_subject(ClaimMethod method) const {
    if (method == ClaimMethod::montecarlo && !uses(claim_, can_be_sampled) &&
        !uses(claim_, is_of_network))
      throw NotApplicable{"nothing in it is sampled"};
    if (method == ClaimMethod::passes && !uses(claim_, is_of_network))
      throw NotApplicable{"nothing in it is measured in passes"};
  }

  MethodResult by_formulas() {
    MethodResult worst;
    int points = 0;
    bool first = true, all_proved = true;
    for (const auto& values : grid_of(claim_)) {
      Engine engine(ClaimMethod::symbolic, options_, networks_);
      const Sides sides = sides_at(claim_, values, engine);
      const Judgement judged = placed(claim_.place, 1, [&] {
        return judge_formulas(claim_.assertion, sides.left, sides.right, sides.domains);
      });
      if (judged.verdict == Verdict::open) throw NotApplicable{judged.how};
      if (judged.verdict == Verdict::fails && !judged.worst.empty())
        witnesses_.push_back(judged.worst);
      points += judged.points;
      all_proved = all_proved && judged.proved;
      if (!first && (worst.verdict == Verdict::fails || judged.verdict == Verdict::holds)) continue;
      first = false;
      worst = describe(sides, judged);
      worst.point = point_text(values);
      if (!judged.worst.empty())
        worst.point += (worst.point.empty() ? "" : ", ") + to_string(judged.worst);
    }
    worst.points = points;
    if (worst.verdict == Verdict::fails) return worst;
    worst.proved = all_proved;
    if (!all_proved && worst.how.starts_with("proved"))
      worst.how = points > 0 ? fmt::format("checked at {} points", points) : "equal to 50 digits";
    return worst;
  }

  static std::optional<double> constant(const Expr& expr) {
    try {
      const double value = evaluate(expr);
      return std::isfinite(value) ? std::optional(value) : std::nullopt;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  static MethodResult describe(const Sides& sides, const Judgement& judged) {
    MethodResult result;
    result.verdict = judged.verdict;
    result.proved = judged.proved;
    result.how = judged.how;
    result.left = base::shortened(to_string(sides.left), shown_length);
    result.right = base::shortened(to_string(sides.right), shown_length);
    result.left_value = judged.left ? judged.left : constant(sides.left);
    result.right_value = judged.right ? judged.right : constant(sides.right);
    result.difference = constant(sides.left - sides.right);
    if (judged.left && judged.right) result.difference = *judged.left - *judged.right;
    result.difference_formula = describe_difference(sides.left, sides.right);
    return result;
  }

  /// Whether a method has spoken against the claim; samples cannot tell a small difference from
  /// none, and so do not speak against a counter-case.
  bool refuted() const {
    const Verdict against = claim_.fails ? Verdict::holds : Verdict::fails;
    return std::any_of(result_.methods.begin(), result_.methods.end(),
                       [&](const MethodResult& method) {
                         return method.verdict == against &&
                                !(claim_.fails && method.method == ClaimMethod::montecarlo);
                       });
  }

  /// Who has decided must agree: with the assertion, or for a counter-case against it. What samples
  /// leave open is no objection, but no decision either.
  void conclude() {
    const Verdict wanted = claim_.fails ? Verdict::fails : Verdict::holds;
    bool decided = false, contradicted = false;
    for (const MethodResult& method : result_.methods) {
      if (method.verdict == Verdict::open) continue;
      if (method.verdict == wanted) {
        decided = true;
        continue;
      }
      // Samples cannot tell a small difference from none.
      const bool sampled = method.method == ClaimMethod::montecarlo;
      contradicted = contradicted || !(claim_.fails && sampled);
      if (!(claim_.fails && sampled)) decided = true;
    }
    if (!decided) {
      std::string reasons;
      for (const auto& [method, reason] : result_.skipped)
        reasons += (reasons.empty() ? "" : "; ") + to_string(method) + ": " + reason;
      for (const MethodResult& method : result_.methods)
        reasons += (reasons.empty() ? "" : "; ") + to_string(method.method) + ": " + method.how;
      throw PlacedError(ErrorKind::input, "no method decides this claim", claim_.place.at(),
                        reasons);
    }
    result_.holds = !contradicted;
  }

  void compare_published() {
    const auto& by = claim_.by;
    const bool asked =
        by.empty() || std::find(by.begin(), by.end(), ClaimMethod::quadrature) != by.end();
    const ClaimMethod method =
        asked || by.front() == ClaimMethod::symbolic ? ClaimMethod::quadrature : by.front();
    try {
      result_.finding = numeric_.compare_published(method);
    } catch (const NotApplicable&) {
      // Formulas without numbers: the verdict stands for itself.
      result_.finding = {claim_.finding, claim_.published_text, claim_.truth_text, {}, {}, {}};
    }
  }

  const Claim& claim_;
  const CheckOptions& options_;
  Networks& networks_;
  Until until_;
  NumericTrial numeric_;
  std::vector<Values> witnesses_;  ///< where the formulas were seen to differ
  ClaimResult result_;
};

}  // namespace

ClaimResult undecided(const Claim& claim) {
  ClaimResult result;
  result.name = claim.name;
  result.assertion = claim.assertion.text;
  result.file = claim.place.file;
  result.line = claim.place.line;
  result.column = claim.place.column;
  result.condition = claim.condition;
  result.note = claim.note;
  result.source = claim.source;
  result.follows = claim.follows;
  result.expected_to_fail = claim.fails;
  return result;
}

ClaimResult decide(const Claim& claim, const CheckOptions& options, Networks& networks,
                   Until until) {
  return Decision(claim, options, networks, until).run();
}

}  // namespace scalecalc::claims
