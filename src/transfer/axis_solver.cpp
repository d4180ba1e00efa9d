#include "transfer/axis_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "transfer/definitions.hpp"

namespace scalecalc {
namespace {

constexpr int most_rounds = 8;  ///< until the gradient behind a head that moves has settled

/// One tensor on one axis, in exponents.
struct Local {
  Rational fan_in, fan_out;
  Rational multiplier, std;
  Rational branch;    ///< multiplier of its branch over the size of the stream
  Rational gradient;  ///< an entry of theta's
  Rational lr;
  UpdatePowers powers;  ///< of the rule
  UpdateSize update;
  Rational bound;  ///< of the change that its step makes
  bool lr_is_given = false;
};

/// A bound on lr: size + lr <= limit.
struct Bound {
  const char* name;
  std::string size;
  Rational limit, lr;
};

class AxisSolver {
 public:
  AxisSolver(const TransferProblem& problem, GrowthAxis axis,
             const std::vector<const TransferRule*>& rules, TransferSolution& solution)
      : problem_(problem),
        model_(problem.model),
        axis_(axis),
        rules_(rules),
        solution_(solution),
        local_(problem.model.tensors.size()) {}

  void run() {
    for (std::size_t i = 0; i < local_.size(); ++i) set_start(i);
    tie_starts();
    set_stream();
    set_features();
    for (int round = 0; round < most_rounds; ++round) {
      const std::vector<Rational> before = rates();
      set_gradients();
      for (std::size_t i = 0; i < local_.size(); ++i) set_rate(i);
      tie_rates();
      if (round > 0 && rates() == before) break;
    }
    for (std::size_t i = 0; i < local_.size(); ++i) write(i);
    warn_of_trade();
  }

 private:
  const TransferTensor& tensor(std::size_t i) const { return model_.tensors[i]; }
  bool in_depth() const { return axis_ == GrowthAxis::depth; }
  std::string symbol() const { return ratio_symbol(axis_); }
  std::string power(const Rational& exponent) const {
    Exponents one;
    one[axis_] = exponent;
    return one.formula();
  }

  const GivenNumbers& given(std::size_t i) const {
    static const GivenNumbers nothing;
    for (const auto& [key, numbers] : problem_.parametrization.kinds)
      if (key == to_string(tensor(i).kind)) return numbers;
    return nothing;
  }
  std::optional<Rational> on_axis(const std::optional<Exponents>& numbers) const {
    if (!numbers) return {};
    return (*numbers)[axis_];
  }

  void set_start(std::size_t i) {
    Local& local = local_[i];
    local.powers = update_powers(rules_[i]->update);
    local.fan_in = tensor(i).fan_in[axis_];
    local.fan_out = tensor(i).fan_out[axis_];
    const TensorKind kind = tensor(i).kind;
    const Growth growth{local.fan_in, local.fan_out, tensor(i).is_matrix,
                        kind == TensorKind::output || kind == TensorKind::router};
    const GivenNumbers& numbers = given(i);
    const DefinedStart start =
        defined_start(problem_.parametrization.base, growth, on_axis(numbers.multiplier));
    local.multiplier = start.multiplier;
    local.std = on_axis(numbers.std).value_or(start.std);
    if (const auto lr = on_axis(numbers.lr)) {
      local.lr_is_given = true;
      local.lr = *lr;
    }
  }

  /// A tensor of two uses starts with the smaller std, at which both are stable.
  void tie_starts() {
    const auto [table, head] = tied();
    if (table == local_.size()) return;
    if (!(local_[table].std == local_[head].std)) {
      const bool by_head = local_[head].std < local_[table].std;
      solution_.warnings.push_back(fmt::format(
          "the tied tensor starts with std {}, as the {} asks; the {} alone would have {}",
          power(smaller(local_[table].std, local_[head].std)), by_head ? "head" : "embedding",
          by_head ? "embedding" : "head", power(larger(local_[table].std, local_[head].std))));
    }
    local_[table].std = local_[head].std = smaller(local_[table].std, local_[head].std);
  }
  /// Its lr is the smaller one too.
  void tie_rates() {
    const auto [table, head] = tied();
    if (table == local_.size()) return;
    local_[table].lr = local_[head].lr = smaller(local_[table].lr, local_[head].lr);
  }
  /// The table and the head; the number of tensors where none are tied.
  std::pair<std::size_t, std::size_t> tied() const {
    std::size_t table = local_.size(), head = local_.size();
    for (std::size_t i = 0; i < local_.size(); ++i) {
      if (!tensor(i).is_tied) continue;
      (tensor(i).kind == TensorKind::output ? head : table) = i;
    }
    return head == local_.size() ? std::pair(head, head) : std::pair(table, head);
  }

  /// Over depth: the branches' multipliers, and the size of their sum.
  void set_stream() {
    if (!in_depth() || !model_.has_branches) return;
    int most = 0;
    for (const TransferTensor& each : model_.tensors)
      if (each.in_branch) most = std::max(most, each.matrices);
    const Rational of_most = branch_of(most);
    solution_.branch[axis_] = of_most;
    // L equal variances add; below r_L^(-1/2) the input stays the larger part.
    const Rational sum = larger(0, of_most + half);
    if (model_.norm == StreamNorm::each_read) stream_ = sum;
    for (std::size_t i = 0; i < local_.size(); ++i)
      if (tensor(i).in_branch) {
        local_[i].branch = branch_of(tensor(i).matrices) - stream_;
        // A branch that starts at 0 is as large as its factor becomes.
        if (model_.starts_closed && tensor(i).kind != TensorKind::scalar)
          local_[i].branch = smaller(local_[i].branch, Rational(-1));
      }
    if (sum.is_zero() || model_.starts_closed) return;
    if (model_.norm == StreamNorm::none)
      refuse_branch("without norms the stream grows as r_L^(1/2) and more at init", of_most);
    if (model_.norm == StreamNorm::each_sum)
      refuse_branch("the norms on the sums leave an exponentially small share of the input",
                    of_most);
  }

  void refuse_branch(const std::string& why, const Rational& exponent) {
    solution_.bindings.push_back({"branch", "multiplier", axis_, "branch_variance",
                                  fmt::format("1/2 + {} <= 0", exponent.to_string()), false});
    solution_.warnings.push_back(fmt::format(
        "{} with a branch multiplier of {}: it must be at most r_L^(-1/2)", why, power(exponent)));
  }

  Rational branch_of(int matrices) const {
    if (problem_.depth_alpha) return -*problem_.depth_alpha;
    if (problem_.parametrization.branch) return (*problem_.parametrization.branch)[axis_];
    if (const auto defined = defined_branch(problem_.parametrization.base)) return *defined;
    return feature_change_power(matrices);
  }

  /// How far features may move so that logits stay stable through the head's old value.
  void set_features() {
    for (std::size_t i = 0; i < local_.size(); ++i) {
      if (tensor(i).kind != TensorKind::output) continue;
      const Local& head = local_[i];
      const Rational weight = head.multiplier + head.std;
      const Rational start = weight + head.fan_in * half;
      if (Rational(0) < start) {
        solution_.bindings.push_back(
            {tensor(i).name, "std", axis_, "logits_at_init",
             fmt::format("{} + {} + {}/2 <= 0", head.multiplier.to_string(), head.std.to_string(),
                         head.fan_in.to_string()),
             false});
        solution_.warnings.push_back(
            fmt::format("logits grow as {} at init: no learning rate mends that", power(start)));
      }
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
  }

  /// The size of the gradient that reaches the features behind the last block: the head is what it
  /// was, or what its step made of it.
  Rational behind_stream() const {
    Rational size;
    bool found = false;
    for (std::size_t i = 0; i < local_.size(); ++i) {
      if (tensor(i).kind != TensorKind::output) continue;
      const Local& head = local_[i];
      const Rational entry = larger(head.std, stepped_ ? head.lr + head.update.entry : head.std);
      const Rational here = head.multiplier + entry + head.fan_out * half;
      size = found ? larger(size, here) : here;
      found = true;
    }
    return size;
  }

  void set_gradients() {
    const Rational at_features = behind_stream();
    global_norm_ = {};
    bool first = true;
    for (std::size_t i = 0; i < local_.size(); ++i) {
      local_[i].gradient = gradient_of(i, at_features);
    }
    const auto [table, head] = tied();
    if (table != local_.size())
      local_[table].gradient = local_[head].gradient =
          larger(local_[table].gradient, local_[head].gradient);
    for (std::size_t i = 0; i < local_.size(); ++i) {
      const Local& local = local_[i];
      const Rational count = in_depth() && tensor(i).repeats ? half : Rational(0);
      const Rational norm = local.gradient + (local.fan_in + local.fan_out) * half + count;
      global_norm_ = first ? norm : larger(global_norm_, norm);
      first = false;
    }
  }

  Rational gradient_of(std::size_t i, const Rational& at_features) const {
    const Local& local = local_[i];
    const TensorKind kind = tensor(i).kind;
    if (kind == TensorKind::output || kind == TensorKind::output_bias) return local.multiplier;
    const Rational stream = tensor(i).stream[axis_];
    // One factor of a branch gathers what all features of the stream say.
    if (kind == TensorKind::scalar && !tensor(i).is_matrix)
      return local.multiplier + at_features + stream + local.branch;
    const Rational reach = tensor(i).behind_stream ? Rational(0)
                           : tensor(i).in_branch   ? local.branch
                                                   : -stream_;
    // Back through matrices that keep features at size 1: sqrt(fan_out/fan_in) of those behind.
    return local.multiplier + at_features + reach + (stream - local.fan_out) * half;
  }

  /// What its step may change: features by 1 (or by what the head stands), and over depth the sum
  /// over blocks by 1.
  Rational bound_of(std::size_t i) const {
    const TensorKind kind = tensor(i).kind;
    if (kind == TensorKind::output || kind == TensorKind::output_bias) return 0;
    Rational bound = smaller(0, features_);
    // A tied table's features may start below 1, where a norm reads them.
    if (tensor(i).is_tied) bound = smaller(bound, local_[i].multiplier + local_[i].std);
    if (in_depth() && tensor(i).repeats) bound = smaller(bound, Rational(-1) - local_[i].branch);
    return bound;
  }

  void set_rate(std::size_t i) {
    Local& local = local_[i];
    local.update = update_size(
        rules_[i]->update, {local.fan_in, local.fan_out, local.gradient, local.std, global_norm_});
    local.bound = bound_of(i);
    if (!local.lr_is_given) local.lr = tightest(bounds_on(i)).lr;
    stepped_ = true;
  }

  std::vector<Bound> bounds_on(std::size_t i) const {
    const Local& local = local_[i];
    const Alignment& alignment = problem_.alignment;
    const Rational let_through = local.update.singular + (local.fan_in - local.fan_out) * half;
    const auto change = [&](const char* name, const char* product, const Rational& exponent,
                            const Rational& input) {
      const Rational entry = local.update.entry + exponent * local.fan_in;
      const Rational size = smaller(entry, let_through) + input;
      return Bound{name,
                   fmt::format("multiplier {} + {} {}", local.multiplier.to_string(), product,
                               size.to_string()),
                   local.bound, local.bound - local.multiplier - size};
    };
    std::vector<Bound> bounds = {change("own_change", "|U x|", alignment.alpha, 0)};
    if (!local.fan_in.is_zero())
      bounds.push_back(change("second_change", "|U dx|", alignment.u, features_));
    // A step relative to theta multiplies it again each time.
    if (!(local.powers.parameter < Rational(1)))
      bounds.push_back({"relative_step", "|U| " + local.update.entry.to_string(), local.std,
                        local.std - local.update.entry});
    return bounds;
  }

  static Bound tightest(const std::vector<Bound>& bounds) {
    return *std::ranges::min_element(bounds,
                                     [](const Bound& a, const Bound& b) { return a.lr < b.lr; });
  }

  std::vector<Rational> rates() const {
    std::vector<Rational> result;
    for (const Local& local : local_) result.push_back(local.lr);
    return result;
  }

  void write(std::size_t i) {
    const Local& local = local_[i];
    TensorTransfer& out = solution_.tensors[i];
    out.multiplier[axis_] = local.multiplier;
    out.std[axis_] = local.std;
    out.lr[axis_] = local.lr;
    out.gradient[axis_] = local.gradient;
    const GivenNumbers& numbers = given(i);
    if (out.eps)
      (*out.eps)[axis_] =
          on_axis(numbers.eps)
              .value_or(eps_exponent(rules_[i]->eps, local.gradient, local.fan_in + local.fan_out));
    if (out.decay) (*out.decay)[axis_] = on_axis(numbers.decay).value_or(decay_of(local));
    bind(i);
  }

  Rational decay_of(const Local& local) const {
    switch (problem_.decay) {
      case DecayLaw::rate: break;
      case DecayLaw::root_width: return axis_ == GrowthAxis::width ? half : Rational(0);
      case DecayLaw::constant: return 0;
      case DecayLaw::update_share:
        return local.update.singular - local.std - larger(local.fan_in, local.fan_out) * half;
    }
    return -local.lr;
  }

  void bind(std::size_t i) {
    const Local& local = local_[i];
    const Bound bound = tightest(bounds_on(i));
    const bool of_depth =
        in_depth() && tensor(i).repeats && local.bound == Rational(-1) - local.branch;
    const bool holds = !(bound.lr < local.lr);
    const char* name = std::string_view(bound.name) == "relative_step" ? bound.name
                       : of_depth                                      ? "branch_sum"
                       : local.bound.sign() < 0                        ? "head_features"
                                                                       : bound.name;
    solution_.bindings.push_back({tensor(i).name, "lr", axis_, name,
                                  fmt::format("{} + lr <= {}", bound.size, bound.limit.to_string()),
                                  holds});
    if (!holds)
      solution_.warnings.push_back(
          fmt::format("the learning rate of {} is {}, and {} is the largest that is stable",
                      tensor(i).name, power(local.lr), power(bound.lr)));
  }

  /// Where a head moves by more than its init, a slower one would leave the others larger steps.
  void warn_of_trade() {
    for (std::size_t i = 0; i < local_.size(); ++i) {
      const Local& head = local_[i];
      if (tensor(i).kind != TensorKind::output || !(head.std < head.lr + head.update.entry))
        continue;
      if (head.powers.gradient.is_zero()) continue;
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
  std::vector<Local> local_;
  Rational stream_;       ///< size of the stream that norms divide by
  Rational features_;     ///< by which features may move, at most 0
  Rational global_norm_;  ///< the norm of all gradients
  bool stepped_ = false;
};

}  // namespace

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
