#include "transfer/axis_solver.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "transfer/definitions.hpp"
#include "transfer/starts.hpp"
#include "transfer/step_bounds.hpp"

namespace scalecalc {
namespace {

constexpr int most_rounds = 24;  ///< until all gradients and rates have settled

class AxisSolver {
 public:
  AxisSolver(const TransferProblem& problem, GrowthAxis axis,
             const std::vector<const TransferRule*>& rules, TransferSolution& solution)
      : problem_(problem), model_(problem.model), axis_(axis), rules_(rules), solution_(solution) {}

  void run() {
    for (Start& start : starts_on(problem_, axis_, solution_)) {
      Step step;
      step.start = std::move(start);
      step.rule = &rules_[steps_.size()]->update;
      step.alignment = problem_.alignment;
      step.theta = step.start.std;
      // With other data a step is as large at any rate: it is not its lr that moves features.
      given_lr_.push_back(step.start.lr);
      if (is_data()) step.start.lr.reset();
      steps_.push_back(std::move(step));
    }
    set_stream();
    set_features();
    settle();
    for (std::size_t i = 0; i < steps_.size(); ++i) write(i);
    warn_of_trade();
  }

 private:
  const TransferTensor& tensor(std::size_t i) const { return model_.tensors[i]; }
  bool in_depth() const { return axis_ == GrowthAxis::depth; }
  bool is_data() const { return !changes_network(axis_); }
  std::string power(const Rational& exponent) const { return power_text(axis_, exponent); }

  /// Blocks that a tensor stands in one of each, in exponents.
  Rational blocks_of(std::size_t i) const { return in_depth() && tensor(i).repeats ? 1 : 0; }
  /// Whether the branch it stands in has the multiplier that is solved for: over depth those alone
  /// whose number grows.
  bool has_multiplier(std::size_t i) const {
    return tensor(i).in_branch && (!in_depth() || tensor(i).repeats);
  }

  /// Its lr is the smaller one of its uses.
  void tie_rates() {
    const auto [table, head] = tied_pair(model_);
    if (table == steps_.size()) return;
    steps_[table].lr = steps_[head].lr = smaller(steps_[table].lr, steps_[head].lr);
  }

  /// The multipliers of branches, and the size of their sum.
  void set_stream() {
    if (!model_.has_branches) return;
    int most = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (has_multiplier(i)) most = std::max(most, tensor(i).matrices);
    if (most == 0) return;
    const Rational of_most = branch_of(most);
    solution_.branch[axis_] = of_most;
    const Rational blocks = in_depth() ? 1 : 0;
    // L equal variances add; below r_L^(-1/2) the input stays the larger part. Branches that begin
    // at 0 add nothing.
    const Rational sum = model_.starts_closed ? Rational(0) : larger(0, of_most + blocks * half);
    if (model_.norm == StreamNorm::each_read) stream_ = sum;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!tensor(i).in_branch) continue;
      steps_[i].branch = (has_multiplier(i) ? branch_of(tensor(i).matrices) : 0) - stream_;
      // A branch that starts at 0 is as large as what closes it becomes.
      if (model_.starts_closed && !tensor(i).closes_branch)
        steps_[i].branch = smaller(steps_[i].branch, -blocks);
    }
    if (sum.is_zero()) return;
    const std::string grows = power(sum);
    if (model_.norm == StreamNorm::none)
      refuse_branch(
          fmt::format("no norm reads the sum of the branches, which grows as {} at init", grows),
          of_most);
    if (model_.norm == StreamNorm::each_sum)
      refuse_branch("the norms on the sums leave an exponentially small share of the input",
                    of_most);
  }

  void refuse_branch(const std::string& why, const Rational& exponent) {
    solution_.bindings.push_back(
        {"branch", "multiplier", axis_, "branch_variance",
         fmt::format("{}{} <= 0", in_depth() ? "1/2 + " : "", exponent.to_string()), false});
    solution_.warnings.push_back(
        fmt::format("{} with a branch multiplier of {}: it must be at most {}", why,
                    power(exponent), power(in_depth() ? -half : Rational(0))));
  }

  Rational branch_of(int matrices) const {
    if (in_depth() && problem_.depth_alpha) return -*problem_.depth_alpha;
    if (problem_.parametrization.branch) return (*problem_.parametrization.branch)[axis_];
    if (!in_depth()) return 0;
    if (const auto defined = defined_branch(problem_.parametrization.base)) return *defined;
    return feature_change_power(matrices);
  }

  /// How far features may move so that logits stay stable through the head's old value.
  void set_features() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (tensor(i).kind != TensorKind::output) continue;
      const Start& head = steps_[i].start;
      const Rational weight = head.multiplier + head.std;
      const Rational through =
          smaller(weight + problem_.alignment.omega * head.fan_in,
                  weight + (larger(head.fan_in, head.fan_out) + head.fan_in - head.fan_out) * half);
      features_ = smaller(features_, -through);
      if (Rational(0) < through)
        solution_.bindings.push_back(
            {tensor(i).name, "features", axis_, "head_features",
             fmt::format("{} + {} + {}*{} + dx <= 0", head.multiplier.to_string(),
                         head.std.to_string(), problem_.alignment.omega.to_string(),
                         head.fan_in.to_string())});
      else if (through.is_zero() && !head.fan_in.is_zero() && problem_.alignment.omega == half &&
               problem_.alignment.alpha.is_one())
        solution_.warnings.push_back(fmt::format(
            "the head's multiplier * std is {}: once features align with it logits grow, as {} in "
            "the limit",
            power(weight), power(weight + head.fan_in)));
    }
    for (Step& step : steps_) step.features = features_;
  }

  /// Gradients by the steps so far, and steps by these gradients, until both stay.
  void settle() {
    std::vector<Rational> norms;
    for (int round = 0; round < most_rounds; ++round) {
      const std::vector<Rational> before = state();
      set_gradients(norms);
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        steps_[i].limit = limit_of(i);
        solve_step(steps_[i]);
      }
      stepped_ = true;
      tie_rates();
      if (round > 0 && state() == before) return;
    }
    throw Error(ErrorKind::input,
                fmt::format("under {} each step enlarges the gradients of the next without end on "
                            "the axis {}",
                            problem_.optimizer.name, to_string(axis_)),
                problem_.parametrization.name,
                "leave the learning rates to be solved for, or take a rule without global_norm");
  }
  std::vector<Rational> state() const {
    std::vector<Rational> result;
    for (const Step& step : steps_) {
      result.push_back(step.lr);
      result.push_back(step.gradient);
      result.push_back(step.theta);
      result.push_back(step.global_norm);
    }
    return result;
  }

  /// The size of the gradient that reaches the features behind the last block: the head is what it
  /// was, or what its step made of it.
  Rational behind_stream() const {
    Rational size;
    bool found = false;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (tensor(i).kind != TensorKind::output) continue;
      const Step& head = steps_[i];
      const Rational entry =
          larger(head.start.std, stepped_ ? head.lr + head.update.entry : head.start.std);
      const Rational here = head.start.multiplier + entry + head.start.fan_out * half;
      size = found ? larger(size, here) : here;
      found = true;
    }
    return size;
  }

  /// `norms`: that of all gradients in the rounds so far since it was guessed.
  void set_gradients(std::vector<Rational>& norms) {
    const Rational at_features = behind_stream();
    for (std::size_t i = 0; i < steps_.size(); ++i)
      steps_[i].gradient = gradient_of(i, at_features);
    const auto [table, head] = tied_pair(model_);
    if (table != steps_.size())
      steps_[table].gradient = steps_[head].gradient =
          larger(steps_[table].gradient, steps_[head].gradient);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Start& start = steps_[i].start;
      const Rational count = start.columns + tensor(i).copies[axis_] + blocks_of(i);
      const Rational norm = steps_[i].gradient + (start.fan_in + start.fan_out + count) * half;
      if (i == 0)
        norms.push_back(norm);
      else
        norms.back() = larger(norms.back(), norm);
    }
    const Rational norm = settled_norm(norms);
    for (Step& step : steps_) step.global_norm = norm;
  }

  /// What a norm comes to that each round changes by a share of the change before.
  static Rational settled_norm(std::vector<Rational>& norms) {
    if (norms.empty()) return 0;
    const Rational last = norms.back();
    if (norms.size() < 4) return last;
    const Rational change = last - norms[norms.size() - 2],
                   before = norms[norms.size() - 2] - norms[norms.size() - 3];
    norms.clear();
    if (before.is_zero() || !(change / before < Rational(1))) return last;
    const Rational share = change / before;
    return last + change * share / (Rational(1) - share);
  }

  Rational gradient_of(std::size_t i, const Rational& at_features) const {
    const Step& step = steps_[i];
    const Rational multiplier = step.start.multiplier + tensor(i).share[axis_];
    const TensorKind kind = tensor(i).kind;
    if (kind == TensorKind::output || kind == TensorKind::output_bias) return multiplier;
    const Rational stream = tensor(i).stream[axis_];
    // One factor of a branch gathers what all features of the stream say.
    if (kind == TensorKind::scalar && !tensor(i).is_matrix)
      return multiplier + at_features + stream + step.branch;
    const Rational reach = tensor(i).behind_stream ? Rational(0)
                           : tensor(i).in_branch   ? step.branch
                                                   : -stream_;
    // Back through matrices that keep features at size 1: sqrt(fan_out/fan_in) of those behind.
    return multiplier + at_features + reach + (stream - step.start.fan_out) * half;
  }

  /// What its step may change: features by 1 (or by what the head stands), and over depth the sum
  /// over blocks by 1.
  StepLimit limit_of(std::size_t i) const {
    const TensorKind kind = tensor(i).kind;
    if (kind == TensorKind::output || kind == TensorKind::output_bias) return {};
    StepLimit limit;
    if (features_.sign() < 0) limit = {features_, "head_features"};
    // A tied table's features may start below 1, where a norm reads them.
    const Rational start = steps_[i].start.multiplier + steps_[i].start.std;
    if (tensor(i).is_tied && start < limit.value) limit = {start, "tied_start"};
    const Rational sum = -blocks_of(i) - steps_[i].branch;
    const bool adds = blocks_of(i).sign() > 0 || tensor(i).in_branch;
    if (adds && (sum < limit.value || (blocks_of(i).sign() > 0 && sum == limit.value)))
      limit = {sum, "branch_sum"};
    return limit;
  }

  /// By how much the noise of a step leaves its lr to grow on an axis of data: lr^2 Var(U)/B stays,
  /// with Var(U) ~ B^-h and h the power of U in the gradient where noise is the larger part of it;
  /// and over all steps lr^2 tokens.
  Rational noise_power(std::size_t i) const {
    if (axis_ == GrowthAxis::tokens) return -half;
    return (update_powers(rules_[i]->update).gradient + 1) * half;
  }
  /// What forgets in a run is as many examples at each size.
  Rational forgetting() const { return axis_ == GrowthAxis::batch ? 1 : -1; }

  void write(std::size_t i) {
    Step& step = steps_[i];
    // What is stable, by which given multipliers count, times what keeps the noise.
    const Rational bound = is_data() ? step.lr + noise_power(i) : Rational(0);
    if (is_data()) step.lr = given_lr_[i].value_or(bound);
    TensorTransfer& out = solution_.tensors[i];
    out.multiplier[axis_] = step.start.multiplier;
    out.std[axis_] = step.start.std;
    out.lr[axis_] = step.lr;
    out.gradient[axis_] = step.gradient;
    // The gradient's noise falls as the root of the batch.
    const Rational beside = step.gradient - (axis_ == GrowthAxis::batch ? half : Rational(0));
    const Rational fans = step.start.fan_in + step.start.fan_out + step.start.columns;
    if (out.eps)
      (*out.eps)[axis_] = step.start.eps.value_or(eps_exponent(rules_[i]->eps, beside, fans));
    if (out.decay) (*out.decay)[axis_] = step.start.decay.value_or(decay_of(step));
    if (out.one_minus_beta && axis_ == GrowthAxis::batch) (*out.one_minus_beta)[axis_] = 1;
    is_data() ? bind_noise(i, bound) : bind(i);
  }

  Rational decay_of(const Step& step) const {
    switch (problem_.decay) {
      case DecayLaw::rate: break;
      case DecayLaw::root_width: return axis_ == GrowthAxis::width ? half : Rational(0);
      case DecayLaw::constant: return 0;
      case DecayLaw::update_share:
        return step.update.singular - step.theta -
               larger(step.start.fan_in, step.start.fan_out) * half;
    }
    return (is_data() ? forgetting() : Rational(0)) - step.lr;
  }

  void bind_noise(std::size_t i, const Rational& bound) {
    const Rational& lr = steps_[i].lr;
    const bool holds = !(bound < lr);
    solution_.bindings.push_back(
        {tensor(i).name, "lr", axis_, "noise", fmt::format("lr <= {}", bound.to_string()), holds});
    if (!holds)
      solution_.warnings.push_back(
          fmt::format("the learning rate of {} is {}, and {} keeps the noise of its steps",
                      tensor(i).name, power(lr), power(bound)));
  }

  void bind(std::size_t i) {
    const Step& step = steps_[i];
    const Bound bound = binding_bound(step);
    const bool holds = !(bound.lr < step.lr);
    const auto [table, head] = tied_pair(model_);
    const bool by_other = step.lr < bound.lr && !given_lr_[i] && (i == table || i == head);
    const bool has_limit = std::string_view(bound.name) != "relative_step" &&
                           !std::string_view(step.limit.name).empty();
    const char* name = by_other ? "other_use" : has_limit ? step.limit.name : bound.name;
    solution_.bindings.push_back({tensor(i).name, "lr", axis_, name,
                                  fmt::format("{} + lr <= {}", bound.size, bound.limit.to_string()),
                                  holds});
    if (!holds)
      solution_.warnings.push_back(
          fmt::format("the learning rate of {} is {}, and {} is the largest that is stable",
                      tensor(i).name, power(step.lr), power(bound.lr)));
  }

  /// Where a head moves by more than its init, a slower one would leave those larger steps whose
  /// rule falls with the gradient that it enlarges.
  void warn_of_trade() {
    const auto asks_gradient = [&](std::size_t i) {
      const TensorKind kind = tensor(i).kind;
      return kind != TensorKind::output && kind != TensorKind::output_bias &&
             !update_powers(rules_[i]->update).gradient.is_zero();
    };
    std::size_t others = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) others += asks_gradient(i) ? 1 : 0;
    if (others == 0 || is_data()) return;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& head = steps_[i];
      if (tensor(i).kind != TensorKind::output || !(head.start.std < head.lr + head.update.entry))
        continue;
      solution_.warnings.push_back(
          "the head's step is larger than its init and enlarges all other gradients: with a slower "
          "head the other learning rates could be larger (stable, not maximal)");
    }
  }

  const TransferProblem& problem_;
  const TransferModel& model_;
  GrowthAxis axis_;
  const std::vector<const TransferRule*>& rules_;
  TransferSolution& solution_;
  std::vector<Step> steps_;
  std::vector<std::optional<Rational>> given_lr_;
  Rational stream_;    ///< size of the stream that norms divide by
  Rational features_;  ///< by which features may move, at most 0
  bool stepped_ = false;
};

}  // namespace

bool changes_network(GrowthAxis axis) {
  return axis != GrowthAxis::batch && axis != GrowthAxis::tokens;
}

void solve_axis(const TransferProblem& problem, GrowthAxis axis,
                const std::vector<const TransferRule*>& rules, TransferSolution& solution) {
  AxisSolver(problem, axis, rules, solution).run();
}

Rational eps_exponent(EpsPlace place, const Rational& gradient, const Rational& fans) {
  switch (place) {
    case EpsPlace::none:
    case EpsPlace::gradient: break;
    case EpsPlace::squared_entry: return gradient * Rational(2);
    case EpsPlace::frobenius: return gradient + fans * half;
    case EpsPlace::squared_frobenius: return gradient * Rational(2) + fans;
  }
  return gradient;
}

}  // namespace scalecalc
