#include <algorithm>
#include <optional>

#include "scalecalc/transfer.hpp"
#include "transfer/solve.hpp"
#include "transfer/update_size.hpp"

namespace scalecalc {
namespace {

/// What the parametrisation gives of one tensor, or of its kind.
GivenNumbers given_of(const Parametrization& parametrization, const TransferTensor& tensor) {
  for (const auto& [name, numbers] : parametrization.tensors)
    if (name == tensor.name) return numbers;
  for (const auto& [key, numbers] : parametrization.kinds)
    if (key == to_string(tensor.kind)) return numbers;
  return {};
}
/// Gives a tensor numbers of its own.
void give(Parametrization& parametrization, const TransferTensor& tensor,
          const GivenNumbers& numbers) {
  for (auto& [name, given] : parametrization.tensors)
    if (name == tensor.name) {
      given = numbers;
      return;
    }
  parametrization.tensors.emplace_back(tensor.name, numbers);
}

class Findings {
 public:
  explicit Findings(const TransferProblem& problem)
      : problem_(problem), has_(solve_exponents(problem)), mended_(problem) {}

  std::vector<TransferFinding> run() {
    for (const GrowthAxis axis : problem_.axes) {
      for (const TensorTransfer& has : has_.tensors) judge_start(has, axis);
      judge_branch(axis);
    }
    free_ = solve_exponents(
        without(mended_, &GivenNumbers::lr, &GivenNumbers::decay, &GivenNumbers::eps));
    followed_ = solve_exponents(without(mended_, &GivenNumbers::decay, &GivenNumbers::eps));
    for (const GrowthAxis axis : problem_.axes) {
      for (std::size_t i = 0; i < has_.tensors.size(); ++i) judge(i, axis);
      if (has_.scores && problem_.parametrization.attention)
        compare("attention", "scale", axis, (*has_.scores)[axis], (*has_.attention)[axis]);
    }
    return std::move(made_);
  }

 private:
  /// Of what is not given the solver has made what is right beside the rest, wrong as that may be.
  void judge(std::size_t i, GrowthAxis axis) {
    const TensorTransfer& has = has_.tensors[i];
    const std::string& name = has.tensor.name;
    const GivenNumbers given = given_of(problem_.parametrization, has.tensor);
    if (given.lr) compare(name, "lr", axis, has.lr[axis], free_.tensors[i].lr[axis]);
    if (given.decay && has.decay)
      compare(name, "decay", axis, (*has.decay)[axis], (*followed_.tensors[i].decay)[axis]);
    // Below the size of what it is added to, eps does nothing.
    const auto& eps = free_.tensors[i].eps;
    if (given.eps && eps && (*eps)[axis] < (*has.eps)[axis])
      compare(name, "eps", axis, (*has.eps)[axis], (*eps)[axis]);
  }

  void judge_start(const TensorTransfer& has, GrowthAxis axis) {
    const TransferTensor& tensor = has.tensor;
    const auto is_broken = [&](const TransferBinding& binding) {
      return !binding.holds && binding.tensor == tensor.name && binding.quantity == "std" &&
             binding.axis == axis;
    };
    const Rational size = has.multiplier[axis] + has.std[axis] + tensor.fan_in[axis] * half;
    const bool makes_features =
        (tensor.kind == TensorKind::hidden || tensor.kind == TensorKind::embedding) &&
        tensor.is_matrix && !tensor.closes_branch && !tensor.is_tied;
    if (std::ranges::none_of(has_.bindings, is_broken) && !(makes_features && size.sign() < 0))
      return;
    GivenNumbers given = given_of(mended_.parametrization, tensor);
    if (!given.multiplier) given.multiplier = has.multiplier;
    if (!given.std) given.std = has.std;
    // Of one tensor of two uses each has a multiplier of its own, and both have the std.
    Rational& number = tensor.is_tied ? (*given.multiplier)[axis] : (*given.std)[axis];
    compare(tensor.name, tensor.is_tied ? "multiplier" : "std", axis, number, number - size);
    number = number - size;
    give(mended_.parametrization, tensor, given);
  }

  /// Over width it stays; over depth it lies between 1 (what the norms hold) and the power at which
  /// every order of a branch's change contributes.
  void judge_branch(GrowthAxis axis) {
    if (!problem_.model.has_branches) return;
    const bool in_depth = axis == GrowthAxis::depth;
    const Rational has = has_.branch[axis];
    Rational wants = has;
    const auto is_broken = [&](const TransferBinding& binding) {
      return !binding.holds && binding.bound == "branch_variance" && binding.axis == axis;
    };
    const Rational least =
        in_depth && has_.criteria ? has_.criteria->feature_change[axis] : Rational(0);
    if (std::ranges::any_of(has_.bindings, is_broken))
      wants = in_depth ? -half : Rational(0);
    else if (Rational(0) < has)
      wants = 0;
    else if (has < least)
      wants = least;
    if (wants == has) return;
    compare("branch", "multiplier", axis, has, wants);
    std::optional<Exponents>& given = mended_.parametrization.branch;
    if (!given) given = has_.branch;
    (*given)[axis] = wants;
  }

  void compare(const std::string& tensor, const char* quantity, GrowthAxis axis,
               const Rational& has, const Rational& wants) {
    if (!(has == wants)) made_.push_back({tensor, quantity, axis, has, wants});
  }

  const TransferProblem& problem_;
  TransferSolution has_;    ///< with all that is given
  TransferProblem mended_;  ///< its stds and branches those that are wanted
  /// Of the mended one: with the largest stable learning rates, and with those that are given and
  /// what follows from them.
  TransferSolution free_, followed_;
  std::vector<TransferFinding> made_;
};

}  // namespace

std::vector<TransferFinding> transfer_findings(const TransferProblem& problem) {
  return Findings(problem).run();
}

}  // namespace scalecalc
