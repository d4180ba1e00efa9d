#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <type_traits>

#include "network/layers/walk.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/export.hpp"
#include "scalecalc/named_parameters.hpp"
#include "scalecalc/names.hpp"
#include "transfer/solve.hpp"

namespace scalecalc {
namespace {

bool same_start(const PlannedParameter& a, const PlannedParameter& b) {
  return a.start == b.start && a.mean == b.mean && a.std == b.std;
}

/// "0.02*r_n^(-1/2)".
std::string product_text(double value, const Exponents& power) {
  const std::string text = fmt::format("{}", value);
  return value == 0 || power == Exponents() ? text : text + "*" + power.formula();
}

class Transferrer {
 public:
  Transferrer(NamedPlan plan, const PlanTransfer& transfer)
      : plan_(std::move(plan)),
        transfer_(transfer),
        base_(init_plan(transfer.base)),
        solution_(solve_exponents(transfer.problem)) {
    for (const PlannedParameter& parameter : base_.parameters) add_base(parameter);
    for (const TensorTransfer& tensor : solution_.tensors) {
      if (tensor.tensor.is_tied && tensor.tensor.kind == TensorKind::output)
        tied_head_ = &tensor;
      else
        tensors_.try_emplace(tensor.tensor.name, &tensor);
    }
  }

  NamedPlan run() {
    for (PlannedParameter& parameter : plan_.plan.parameters) transfer(parameter);
    plan_.plan.scales = scales();
    plan_.transfer = transfer_.words;
    return std::move(plan_);
  }

 private:
  /// Where blocks of one pattern start differently, the pattern has no one start.
  void add_base(const PlannedParameter& parameter) {
    starts_[parameter.path] = &parameter;
    const std::string pattern = path_pattern(parameter.path);
    if (pattern == parameter.path) return;
    const auto [found, is_new] = starts_.try_emplace(pattern, &parameter);
    if (!is_new && found->second && !same_start(*found->second, parameter)) found->second = nullptr;
  }

  /// The shift of a norm that a model's library has without one goes by its gain.
  auto tensor_of(std::string path) const {
    if (is_ours_alone(plan_.spec, path))
      path.replace(path.rfind(".shift"), std::string::npos, ".gain");
    return find_path(tensors_, path);
  }

  void transfer(PlannedParameter& parameter) {
    const auto found = tensor_of(parameter.path);
    const auto start_found = find_path(starts_, parameter.path);
    if (found == tensors_.end() || start_found == starts_.end())
      throw Error(ErrorKind::input, parameter.path + " has no counterpart in the base", "transfer",
                  "choose a base that has all kinds of parameters");
    const TensorTransfer& tensor = *found->second;
    const PlannedParameter* start = start_found->second;
    if (!start)
      throw Error(ErrorKind::input,
                  path_pattern(parameter.path) +
                      " starts differently in the base's blocks: the other blocks of the model "
                      "have none to start from",
                  "transfer", "choose a base of the same depth");
    const TensorFactors factors = factors_at(tensor, transfer_.ratios);
    PlannedParameter made = *start;
    made.path = parameter.path;
    made.rows = parameter.rows;
    made.columns = parameter.columns;
    if (factors.std != 1) scale(made, factors.std);
    made.formula =
        product_text(start->std > 0 ? start->std : start->mean, tensor.std * tensor.multiplier);
    parameter = made;
    StepFactors step{factors.lr, factors.decay, {}, tensor.rule};
    if (tensor.eps && tensor.eps_symmetry == Rational(1)) step.eps = factors.eps;
    plan_.steps.push_back(step);
  }

  static void scale(PlannedParameter& parameter, double factor) {
    parameter.mean *= factor;
    parameter.std *= factor;
    parameter.bound *= factor;
    parameter.untruncated_std *= factor;
    if (parameter.start == Start::ones && parameter.mean != 1) parameter.start = Start::constant;
  }

  /// Those of the base, with the branch multiplier and the scale of scores of the solution.
  std::vector<PlannedScale> scales() {
    std::vector<PlannedScale> made;
    for (PlannedScale scale : base_.scales) {
      if (scale.what == "branch") continue;
      if (scale.what == "attention" && solution_.scores) scale = times(scale, *solution_.scores);
      made.push_back(scale);
    }
    add_branches(made);
    if (tied_head_) add_tied_head(made);
    return made;
  }

  PlannedScale times(PlannedScale scale, const Exponents& power) const {
    scale.formula = product_text(scale.value, power);
    scale.value *= power.at(transfer_.ratios);
    return scale;
  }

  void add_branches(std::vector<PlannedScale>& made) const {
    std::map<std::string, double> branches;
    for_each_layer(base_.network.layers, [&](const auto& layer) {
      if constexpr (std::is_same_v<std::decay_t<decltype(layer)>, Residual>)
        if (!layer.trainable_branch) branches.emplace(path_pattern(layer.path), layer.branch);
    });
    for (const auto& [pattern, value] : branches) {
      const PlannedScale scale = times({"branch", pattern, value, {}}, solution_.branch);
      if (scale.value != 1) made.push_back(scale);
    }
  }

  /// The table's multiplier is in its init; what the head has besides is not.
  void add_tied_head(std::vector<PlannedScale>& made) const {
    const auto table = tensors_.find("embedding.weight");
    if (table == tensors_.end()) return;
    const Exponents rest = tied_head_->multiplier / table->second->multiplier;
    const auto own = std::ranges::find_if(made, [](const PlannedScale& scale) {
      return scale.what == "output" && scale.pattern == "head";
    });
    if (own != made.end()) {
      *own = times(*own, rest);
    } else if (rest.at(transfer_.ratios) != 1) {
      made.push_back(times({"output", "head", 1, {}}, rest));
    }
  }

  NamedPlan plan_;
  const PlanTransfer& transfer_;
  InitPlan base_;
  TransferSolution solution_;
  std::map<std::string, const PlannedParameter*> starts_;
  std::map<std::string, const TensorTransfer*> tensors_;
  const TensorTransfer* tied_head_ = nullptr;
};

}  // namespace

NamedPlan transferred(NamedPlan plan, const PlanTransfer& transfer) {
  return Transferrer(std::move(plan), transfer).run();
}

}  // namespace scalecalc
