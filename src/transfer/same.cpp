#include <fmt/format.h>

#include <algorithm>

#include "scalecalc/transfer.hpp"
#include "transfer/solve.hpp"
#include "transfer/update_size.hpp"

namespace scalecalc {
namespace {

/// The power of t that eps carries: of what it is added to.
Rational eps_power(EpsPlace place) {
  return place == EpsPlace::squared_entry || place == EpsPlace::squared_frobenius ? 2 : 1;
}

/// Compares the numbers of one tensor, with t = second.multiplier/first.multiplier.
class Comparison {
 public:
  Comparison(const TensorTransfer& first, const TensorTransfer& second, EpsPlace eps,
             const std::vector<GrowthAxis>& axes)
      : axes_(axes) {
    kind_.name = to_string(first.tensor.kind);
    for (const GrowthAxis axis : axes)
      kind_.factor[axis] = second.multiplier[axis] - first.multiplier[axis];
    compare("std", first.std, second.std, -1);
    compare("lr", first.lr, second.lr, -first.lr_symmetry);
    if (first.decay) compare("decay", *first.decay, *second.decay, first.lr_symmetry);
    if (first.eps) compare("eps", *first.eps, *second.eps, eps_power(eps));
  }

  SameParametrization::Kind result() && { return std::move(kind_); }

 private:
  void compare(const char* what, const Exponents& first, const Exponents& second,
               const Rational& power) {
    Exponents expected;
    bool same = true;
    for (const GrowthAxis axis : axes_) {
      expected[axis] = first[axis] + power * kind_.factor[axis];
      same = same && expected[axis] == second[axis];
    }
    if (same) return;
    kind_.same = false;
    kind_.difference +=
        fmt::format("{}{} is {} where {} would be the same", kind_.difference.empty() ? "" : "; ",
                    what, second.formula(), expected.formula());
  }

  const std::vector<GrowthAxis>& axes_;
  SameParametrization::Kind kind_;
};

EpsPlace eps_of(const TransferOptimizer& optimizer, const std::string& rule) {
  return optimizer.rest && optimizer.rest->name == rule ? optimizer.rest->eps : optimizer.rule.eps;
}

}  // namespace

SameParametrization same_parametrization(const TransferProblem& first,
                                         const Parametrization& second) {
  TransferProblem other = first;
  other.parametrization = second;
  const TransferSolution a = solve_exponents(first), b = solve_exponents(other);
  SameParametrization result;
  result.same_branch = a.branch == b.branch;
  result.same = result.same_branch;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    SameParametrization::Kind kind =
        Comparison(a.tensors[i], b.tensors[i], eps_of(first.optimizer, a.tensors[i].rule),
                   first.axes)
            .result();
    result.same = result.same && kind.same;
    const auto is_known = [&](const SameParametrization::Kind& known) {
      return known.name == kind.name && known.same == kind.same && known.factor == kind.factor;
    };
    if (std::ranges::none_of(result.kinds, is_known)) result.kinds.push_back(std::move(kind));
  }
  return result;
}

}  // namespace scalecalc
