#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "forecast/scaled_step.hpp"
#include "network/layers/walk.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/forecast.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/steps.hpp"

namespace scalecalc {
namespace {

/// Masks of no dropout.
struct Undropped {
  void operator()(Dropout& layer) const { layer.rate = 0; }
  void operator()(Attention& layer) const { layer.dropout = 0; }
  template <class Op>
  void operator()(Op&) const {}
};

/// E (d theta)^2 by path.
using Moves = std::unordered_map<std::string, double>;

/// Trained factors of branches after kAlikeSteps steps.
struct Opened {
  const Moves& moves;
  bool any = false;

  void operator()(Residual& layer) {
    if (!layer.trainable_branch) return;
    const auto move = moves.find(layer.path + ".scale");
    if (move == moves.end()) return;
    layer.branch =
        std::sqrt(layer.branch * layer.branch + kAlikeSteps * kAlikeSteps * move->second);
    layer.branch_formula.reset();
    any = true;
  }
  template <class Op>
  void operator()(Op&) const {}
};

/// The identity weight after kAlikeSteps steps like this one, whose changes of the branches' ends
/// add to what the branches bring (docs/theory/forecast.md#signal).
double weight_after(const DepthProfile& profile, const FirstStep& step) {
  std::unordered_map<std::string, double> changes;
  for (const StepSite& site : step.sites) changes[site.path] = site.change.value;
  double weight = 1, growth = 1;
  for (const SublayerShare& sum : profile.sublayers) {
    const double branch = sum.skip * sum.share / (1 - sum.share);
    const auto change = changes.find(sum.end);
    double added = 0;
    if (!sum.norm_at_end && change != changes.end())
      added = kAlikeSteps * kAlikeSteps * sum.scale * sum.scale * change->second;
    const double skip = growth * sum.skip;
    weight *= std::sqrt(skip / (skip + branch + added));
    growth = sum.norm_behind ? 1 : (skip + branch + added) / (sum.skip + branch);
  }
  return weight;
}

class Signs {
 public:
  Signs(const Network& network, const OptimizerOptions& optimizer, const PropagateOptions& options)
      : network_(network), optimizer_(optimizer), options_(options) {
    optimizer_.schedule = {};  // steps at the full rate, behind the warm-up
    take_apart(optimizer_);
    for (OptimizerOptions& rest : optimizer_.rest) take_apart(rest);
    change_each_layer(network_.layers, Undropped{});
  }

  ForecastSigns find() {
    signs_.guess = std::log(static_cast<double>(network_.classes));
    try {
      take_step();
      open_branches();
      judge();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::fault) throw;
      signs_.why_none = error.what();
    }
    return std::move(signs_);
  }

 private:
  /// The rule alone: without decay, and without an eps beside the gradients.
  static void take_apart(OptimizerOptions& optimizer) {
    constexpr double none = 1e-30;
    optimizer.weight_decay = 0;
    optimizer.eps = none;
  }

  void take_step() {
    trace_ = propagate(network_, options_);
    step_ = FirstStep{};
    signs_.without_step.clear();
    try {
      step_ = predict_first_step(network_, trace_, optimizer_);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::fault) throw;
      signs_.without_step = error.what();
    }
  }

  void open_branches() {
    Moves moves;
    for (const StepParameter& parameter : step_.parameters)
      moves[parameter.path] = parameter.update.value;
    Opened opened{moves};
    change_each_layer(network_.layers, opened);
    if (opened.any) take_step();
  }

  void judge() {
    const PredictedStep step = forecast_room::scaled_step(network_, trace_, optimizer_);
    signs_.loss = trace_.loss.value / losses_in_sum();
    signs_.grows_with_gradient = forecast_room::grows_with_gradient(optimizer_);
    const double clip = optimizer_.clip_norm;
    const double clipped =
        signs_.grows_with_gradient && clip > 0 && step.grad_norm > clip ? clip / step.grad_norm : 1;
    signs_.relative_update = clipped * step.relative_update;
    signs_.relative_norm = clipped * step.relative_norm;
    const DepthProfile profile = depth_profile(network_, trace_);
    signs_.identity_weight_at_start = profile.identity_weight;
    const bool is_known = signs_.without_step.empty() && !profile.sublayers.empty();
    signs_.identity_weight = is_known ? weight_after(profile, step_) : profile.identity_weight;
  }

  /// Of one target.
  double losses_in_sum() const {
    if (network_.reduction == Reduction::mean) return 1;
    return static_cast<double>(std::max<std::int64_t>(1, trace_.sites.back().tokens) *
                               std::max<std::int64_t>(1, network_.batch));
  }

  Network network_;
  OptimizerOptions optimizer_;
  PropagateOptions options_;
  Trace trace_;
  FirstStep step_;
  ForecastSigns signs_;
};

}  // namespace

ForecastSigns forecast_signs(const Network& network, const OptimizerOptions& optimizer,
                             const PropagateOptions& options) {
  validate(optimizer);
  if (network.loss != Loss::cross_entropy)
    throw Error(ErrorKind::input, "a forecast is of a cross-entropy, not of another loss", "loss",
                "leave the forecast out, or set the loss to cross-entropy");
  return Signs(network, optimizer, options).find();
}

}  // namespace scalecalc
