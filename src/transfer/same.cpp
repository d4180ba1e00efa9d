#include <fmt/format.h>

#include <algorithm>

#include "scalecalc/transfer.hpp"
#include "transfer/solve.hpp"
#include "transfer/starts.hpp"
#include "transfer/update_size.hpp"

namespace scalecalc {
namespace {

/// Compares the numbers of one tensor, with t = second.multiplier/first.multiplier.
class Comparison {
 public:
  Comparison(const TensorTransfer& first, const TensorTransfer& second,
             const std::vector<GrowthAxis>& axes)
      : axes_(axes) {
    kind_.name = to_string(first.tensor.kind);
    for (const GrowthAxis axis : axes)
      kind_.factor[axis] = second.multiplier[axis] - first.multiplier[axis];
    compare("std", first.std, second.std, -1);
    compare("lr", first.lr, second.lr, -first.lr_symmetry);
    if (first.decay) compare("decay", *first.decay, *second.decay, first.lr_symmetry);
    if (first.eps) compare("eps", *first.eps, *second.eps, first.eps_symmetry);
  }

  /// A rule whose powers are not the same at every size: its step is the same at t = 1 alone.
  void require_powers(const Expr& rule) {
    if (kind_.factor == Exponents() || update_powers(rule).everywhere) return;
    differ(fmt::format("t is {}, and the rule {} has no one power of it", kind_.factor.formula(),
                       to_string(rule)));
  }
  /// The other use of the tensor, whose theta is one.
  void require_factor(const std::string& other, const Exponents& factor) {
    if (kind_.factor == factor) return;
    differ(fmt::format("one tensor with {}, whose t is {}", other, factor.formula()));
  }

  const Exponents& factor() const { return kind_.factor; }
  SameParametrization::Kind result() && { return std::move(kind_); }

 private:
  void differ(const std::string& how) {
    kind_.same = false;
    kind_.difference += (kind_.difference.empty() ? "" : "; ") + how;
  }

  void compare(const char* what, const Exponents& first, const Exponents& second,
               const Rational& power) {
    Exponents expected;
    bool same = true;
    for (const GrowthAxis axis : axes_) {
      expected[axis] = first[axis] + power * kind_.factor[axis];
      same = same && expected[axis] == second[axis];
    }
    if (!same)
      differ(fmt::format("{} is {} where {} would be the same", what, second.formula(),
                         expected.formula()));
  }

  const std::vector<GrowthAxis>& axes_;
  SameParametrization::Kind kind_;
};

const TransferRule& rule_of(const TransferOptimizer& optimizer, const std::string& name) {
  return optimizer.rest && optimizer.rest->name == name ? *optimizer.rest : optimizer.rule;
}

}  // namespace

SameParametrization same_parametrization(const TransferProblem& first,
                                         const Parametrization& second) {
  TransferProblem other = first;
  other.parametrization = second;
  const TransferSolution a = solve_exponents(first), b = solve_exponents(other);
  std::vector<Comparison> compared;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const TransferRule& rule = rule_of(first.optimizer, a.tensors[i].rule);
    compared.emplace_back(a.tensors[i], b.tensors[i], first.axes);
    compared.back().require_powers(rule.update);
  }
  if (const auto [table, head] = tied_pair(first.model); table != a.tensors.size()) {
    const Exponents of_table = compared[table].factor(), of_head = compared[head].factor();
    compared[table].require_factor(a.tensors[head].tensor.name, of_head);
    compared[head].require_factor(a.tensors[table].tensor.name, of_table);
  }
  SameParametrization result;
  result.same_branch = a.branch == b.branch;
  result.same_attention = a.scores == b.scores;
  result.same = result.same_branch && result.same_attention;
  for (Comparison& each : compared) {
    SameParametrization::Kind kind = std::move(each).result();
    result.same = result.same && kind.same;
    const auto is_known = [&](const SameParametrization::Kind& known) {
      return known.name == kind.name && known.same == kind.same && known.factor == kind.factor &&
             known.difference == kind.difference;
    };
    if (std::ranges::none_of(result.kinds, is_known)) result.kinds.push_back(std::move(kind));
  }
  return result;
}

}  // namespace scalecalc
