#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scalecalc/optimizer_mixture.hpp"
#include "transfer/axis_solver.hpp"
#include "transfer/definitions.hpp"
#include "transfer/solve.hpp"

namespace scalecalc {
namespace {

/// The power of t that eps carries: of what it is added to.
Rational eps_power(EpsPlace place) {
  return place == EpsPlace::squared_entry || place == EpsPlace::squared_frobenius ? 2 : 1;
}

class Solver {
 public:
  explicit Solver(const TransferProblem& problem) : problem_(problem) { choose_rules(); }

  TransferSolution run() {
    check_kinds();
    for (std::size_t i = 0; i < rules_.size(); ++i) solution_.tensors.push_back(started(i));
    for (const GrowthAxis axis : problem_.axes) {
      solve_axis(problem_, axis, rules_, solution_);
      if (axis == GrowthAxis::tokens)
        solution_.warnings.push_back(
            "lr ~ r_D^(-1/2) holds the noise of all steps together constant; fits of measured "
            "optima differ");
    }
    solve_attention();
    compare_criteria();
    warn();
    return std::move(solution_);
  }

 private:
  void choose_rules() {
    const TransferOptimizer& optimizer = problem_.optimizer;
    for (const TransferTensor& tensor : problem_.model.tensors) {
      const bool is_first =
          !optimizer.rest || steps_first(optimizer.first_roles, tensor.role, tensor.is_matrix);
      rules_.push_back(is_first ? &optimizer.rule : &*optimizer.rest);
    }
    if (!optimizer.first_roles.empty() &&
        std::ranges::none_of(rules_,
                             [&](const TransferRule* rule) { return rule == &optimizer.rule; }))
      throw Error(ErrorKind::input, "no parameter has the roles of the first optimizer",
                  "--optimizer " + optimizer.name, "give a MODEL that has them");
  }

  void check_kinds() const {
    if (problem_.parametrization.branch && !problem_.model.has_branches)
      throw Error(ErrorKind::input, "the model has no branches", problem_.parametrization.name,
                  "leave [branch] out");
    if (problem_.parametrization.attention && !problem_.model.head_width)
      throw Error(ErrorKind::input, "there is no attention", problem_.parametrization.name,
                  "leave [attention] out, or give a MODEL that has some");
    for (const auto& [key, numbers] : problem_.parametrization.kinds) {
      std::vector<std::string> known;
      for (const TransferTensor& tensor : problem_.model.tensors)
        known.push_back(to_string(tensor.kind));
      if (std::ranges::find(known, key) == known.end())
        throw Error(ErrorKind::input, "the model has no parameter of kind '" + key + "'",
                    problem_.parametrization.name, "leave [" + key + "] out");
    }
  }

  TensorTransfer started(std::size_t i) const {
    TensorTransfer result;
    result.tensor = problem_.model.tensors[i];
    result.rule = rules_[i]->name;
    result.decay = Exponents();
    if (rules_[i]->eps != EpsPlace::none) result.eps = Exponents();
    if (rules_[i]->averages) result.one_minus_beta = Exponents();
    const UpdatePowers powers = update_powers(rules_[i]->update);
    result.lr_symmetry = powers.gradient + 1 - powers.parameter;
    result.eps_symmetry = eps_power(rules_[i]->eps);
    return result;
  }

  /// q.k grows as head_width once steps align q with k.
  void solve_attention() {
    if (!problem_.model.head_width) return;
    const std::optional<Exponents>& given = problem_.parametrization.attention;
    const Exponents& has = given ? *given : problem_.model.attention_scale;
    Exponents stable;
    bool differs = false;
    for (const GrowthAxis axis : problem_.axes) {
      stable[axis] = -(larger(half, problem_.alignment.alpha) * (*problem_.model.head_width)[axis]);
      differs = differs || !(stable[axis] == has[axis]);
    }
    solution_.attention = stable;
    solution_.scores = given.value_or(stable);
    if (differs)
      solution_.warnings.push_back(fmt::format(
          "the scale of attention's scores goes as {}; {} is stable once queries and keys align",
          has.formula(), stable.formula()));
  }

  /// Of L matrices <g, U> is L gamma^(1 + h) in the gradient gamma ~ multiplier of a branch, times
  /// (L^(1/2))^e of the norm of all gradients.
  void compare_criteria() {
    const std::vector<GrowthAxis>& axes = problem_.axes;
    if (!problem_.model.has_branches || std::ranges::find(axes, GrowthAxis::depth) == axes.end())
      return;
    int most = 1;
    std::size_t hidden = rules_.size();
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const TransferTensor& tensor = problem_.model.tensors[i];
      if (!tensor.in_branch || !tensor.repeats || !tensor.is_matrix) continue;
      most = std::max(most, tensor.matrices);
      hidden = std::min(hidden, i);
    }
    if (hidden == rules_.size()) return;
    const UpdatePowers powers = update_powers(rules_[hidden]->update);
    BranchCriteria criteria;
    criteria.feature_change[GrowthAxis::depth] = feature_change_power(most);
    if (const Rational degree = Rational(1) + powers.gradient; !degree.is_zero()) {
      criteria.loss_change.emplace();
      (*criteria.loss_change)[GrowthAxis::depth] =
          -(Rational(1) + powers.global_norm * half) / degree;
    }
    solution_.criteria = criteria;
  }

  void warn() {
    const bool in_depth =
        std::ranges::find(problem_.axes, GrowthAxis::depth) != problem_.axes.end();
    const bool deep = std::ranges::any_of(problem_.model.tensors, [](const TransferTensor& tensor) {
      return tensor.in_branch && tensor.repeats && tensor.matrices >= 2;
    });
    solution_.warnings.insert(solution_.warnings.end(), problem_.model.remarks.begin(),
                              problem_.model.remarks.end());
    // What closes a branch that starts at 0 holds it where every order counts.
    if (in_depth && deep && problem_.model.has_branches && !problem_.model.starts_closed &&
        Rational(-1) < solution_.branch[GrowthAxis::depth])
      solution_.warnings.push_back(
          fmt::format("branches of several matrices with a multiplier of {}: only the first order "
                      "of a branch's change contributes; with r_L^-1 all orders do",
                      branch_text()));
    std::ranges::sort(solution_.warnings);
    const auto same = std::ranges::unique(solution_.warnings);
    solution_.warnings.erase(same.begin(), same.end());
  }

  std::string branch_text() const {
    Exponents depth;
    depth[GrowthAxis::depth] = solution_.branch[GrowthAxis::depth];
    return depth.formula();
  }

  const TransferProblem& problem_;
  std::vector<const TransferRule*> rules_;
  TransferSolution solution_;
};

}  // namespace

TransferSolution solve_exponents(const TransferProblem& problem) {
  return Solver(problem).run();
}

TransferSolution solve_transfer(const TransferProblem& problem) {
  TransferSolution solution = solve_exponents(problem);
  TransferProblem practice = problem;
  practice.parametrization = parametrization_from("standard");
  practice.depth_alpha.reset();
  const TransferSolution standard = solve_exponents(practice);
  for (std::size_t i = 0; i < solution.tensors.size(); ++i)
    for (const GrowthAxis axis : problem.axes)
      solution.tensors[i].standard_excess[axis] = -standard.tensors[i].lr[axis];
  return solution;
}

TensorFactors factors_at(const TensorTransfer& tensor,
                         const std::array<double, growth_axes>& ratios) {
  const double multiplier = tensor.multiplier.at(ratios);
  const double of_lr = std::pow(multiplier, tensor.lr_symmetry.to_double());
  TensorFactors factors;
  factors.std = tensor.std.at(ratios) * multiplier;
  factors.lr = tensor.lr.at(ratios) * of_lr;
  if (tensor.decay) factors.decay = tensor.decay->at(ratios) / of_lr;
  if (tensor.eps)
    factors.eps = tensor.eps->at(ratios) / std::pow(multiplier, tensor.eps_symmetry.to_double());
  return factors;
}

const std::vector<std::string>& decay_law_names() {
  static const std::vector<std::string> names = {"rate", "root-width", "constant", "update-share"};
  return names;
}

DecayLaw decay_law_from(std::string_view name, const std::string& where) {
  const std::vector<std::string>& names = decay_law_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw unknown_name("decay law", std::string(name), names, where);
  return static_cast<DecayLaw>(found - names.begin());
}

const std::vector<std::string>& tensor_kind_names() {
  static const std::vector<std::string> names = {"embedding", "hidden",    "output", "router",
                                                 "bias",      "norm_gain", "scalar", "output_bias"};
  return names;
}

const std::string& to_string(TensorKind kind) {
  return tensor_kind_names()[static_cast<std::size_t>(kind)];
}

}  // namespace scalecalc
