#include "scalecalc/init.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "network/layers/walk.hpp"
#include "network/weights.hpp"
#include "scalecalc/gains.hpp"
#include "scalecalc/names.hpp"

namespace scalecalc {
namespace {

constexpr double truncation = 2.0;  ///< of a truncated normal, in its untruncated std

Start start_of(Distribution distribution) {
  switch (distribution) {
    case Distribution::normal: return Start::normal;
    case Distribution::uniform: return Start::uniform;
    case Distribution::truncated_normal: return Start::truncated_normal;
    case Distribution::orthogonal: break;
  }
  return Start::orthogonal;
}

std::string number_text(double value) {
  return fmt::format("{}", value);
}

/// Fills in the start of each parameter, then what only its layer knows, and collects the scales.
class Planner {
 public:
  Planner(const ModelSpec& spec, InitPlan& plan) : stacks_(stacks_of(spec)), plan_(plan) {
    for (const ParameterInfo& info : parameters(plan.network)) {
      index_.emplace(info.path, plan.parameters.size());
      plan.parameters.push_back(started(info));
    }
  }

  void operator()(const Linear& layer) {
    enter(layer.path);
    if (layer.tied) {
      if (layer.multiplier != 1.0)
        scales_[{"output", layer.path, layer.multiplier}] = number_text(layer.multiplier);
      return;
    }
    PlannedParameter& weight = plan_.parameters[index_.at(layer.path + ".weight")];
    const bool outside = layer.multiplier != 1.0;
    weight.gain = layer.gain;
    weight.fan_rule = fan_rule(layer);
    if (!outside) weight.formula = formula_of(layer);
    if (outside)
      scales_[{"output", path_pattern(layer.path), layer.multiplier}] = formula_of(layer);
  }
  void operator()(const Embedding& layer) {
    if (layer.multiplier != 1.0)
      scales_[{"output", layer.path, layer.multiplier}] = number_text(layer.multiplier);
  }
  void operator()(const Attention& layer) {
    enter(layer.path);
    scales_[{"attention", path_pattern(layer.path), layer.scale}] =
        written(layer.scale_formula, layer.scale);
  }
  void operator()(const Residual& layer) {
    enter(layer.path);
    scale("skip", layer.path, layer.skip, layer.skip_formula);
    if (!layer.trainable_branch) scale("branch", layer.path, layer.branch, layer.branch_formula);
  }
  /// Of blocks that differ in it each has a path of its own.
  void operator()(const Norm& layer) {
    if (layer.scale == 1.0) return;
    enter(layer.path);
    const Expr& formula = stacks_[stack_].spec.norm_scale;
    const std::string of = formula.contains("l") ? layer.path : path_pattern(layer.path);
    scales_[{"norm", of, layer.scale}] = text_of(formula, false);
  }
  template <class Other>
  void operator()(const Other&) {}

  void finish() {
    for (auto& [key, formula] : scales_)
      plan_.scales.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), formula});
  }

 private:
  /// A stack: its spec, and what its formulas are printed with, the model's own scales in the place
  /// of their symbols and, of a decoder, M in that of N.
  struct Stack {
    ModelSpec spec;
    std::map<std::string, Expr> symbols;
  };
  /// One, or the encoder and the decoder.
  static std::vector<Stack> stacks_of(const ModelSpec& spec) {
    std::map<std::string, Expr> symbols;
    if (spec.alpha) symbols.emplace("alpha", *spec.alpha);
    if (spec.lambda) symbols.emplace("lambda", *spec.lambda);
    if (!spec.encoder_decoder) return {{spec, symbols}};
    std::map<std::string, Expr> of_decoder = {{"N", Expr::symbol("M")}};
    if (spec.decoder_alpha) of_decoder.emplace("alpha", substitute(*spec.decoder_alpha, symbols));
    if (spec.decoder_lambda)
      of_decoder.emplace("lambda", substitute(*spec.decoder_lambda, symbols));
    return {{encoder_of(spec), symbols}, {decoder_of(spec), of_decoder}};
  }
  /// Chooses the stack that the layer is of.
  void enter(const std::string& path) {
    stack_ = stacks_.size() > 1 && !path.starts_with("encoder.") ? 1 : 0;
  }

  PlannedParameter started(const ParameterInfo& info) const {
    PlannedParameter parameter;
    parameter.path = info.path;
    parameter.role = info.role;
    parameter.rows = info.rows;
    parameter.columns = info.columns;
    parameter.is_matrix = info.is_matrix;
    parameter.std = parameter.untruncated_std = info.std;
    parameter.formula = number_text(info.std);
    if (!info.distribution || info.std == 0) {
      const double value = info.distribution ? 0 : info.constant;
      parameter.start = value == 0 ? Start::zeros : value == 1 ? Start::ones : Start::constant;
      parameter.mean = value;
      parameter.bound = std::abs(value);
      return parameter;
    }
    parameter.start = start_of(*info.distribution);
    if (parameter.start == Start::uniform) parameter.bound = std::sqrt(3.0) * info.std;
    if (parameter.start == Start::truncated_normal) {
      parameter.untruncated_std = info.std * correction_;
      parameter.bound = truncation * parameter.untruncated_std;
    }
    return parameter;
  }

  /// The formula, or its root, in the stack's own symbols. Blocks share their formulas, which are
  /// written once.
  const std::string& text_of(const Expr& formula, bool root) {
    const auto [found, is_new] = texts_.try_emplace({stack_, &formula.node(), root});
    if (is_new)
      found->second =
          to_string(substitute(root ? sqrt(formula) : formula, stacks_[stack_].symbols));
    return found->second;
  }

  std::string written(const std::optional<Expr>& formula, double value) {
    return formula ? text_of(*formula, false) : number_text(value);
  }

  void scale(const char* what, const std::string& path, double value,
             const std::optional<Expr>& formula) {
    if (value != 1.0) scales_[{what, path_pattern(path), value}] = written(formula, value);
  }

  std::string formula_of(const Linear& layer) {
    if (!layer.variance_formula) return number_text(layer.std * layer.multiplier);
    return text_of(*layer.variance_formula, true);
  }

  /// What the scheme gives, fans as symbols; a layer whose own std is given has no fan.
  const std::string& fan_rule(const Linear& layer) {
    if (!layer.variance_formula) return no_rule_;
    if (layer.gain == 0) return zero_rule_;
    if (layer.variance_formula->is_number()) return text_of(*layer.variance_formula, false);
    const Stack& stack = stacks_[stack_];
    const auto [found, is_new] = fan_rules_.try_emplace({stack_, layer.role});
    if (is_new)
      found->second = to_string(substitute(
          scheme_variance(stack.spec, layer.role, Expr::symbol("fan_in"), Expr::symbol("fan_out")),
          stack.symbols));
    return found->second;
  }

  std::vector<Stack> stacks_;
  std::size_t stack_ = 0;  ///< that of the layer in hand
  InitPlan& plan_;
  const double correction_ = truncated_normal(-truncation, truncation).correction.value;
  std::unordered_map<std::string, std::size_t> index_;
  std::map<std::tuple<std::string, std::string, double>, std::string> scales_;
  std::map<std::tuple<std::size_t, const Expr::Node*, bool>, std::string> texts_;
  std::map<std::pair<std::size_t, std::string>, std::string> fan_rules_;
  const std::string no_rule_, zero_rule_ = "0";
};

}  // namespace

std::string to_string(Start start) {
  switch (start) {
    case Start::zeros: return "zeros";
    case Start::ones: return "ones";
    case Start::constant: return "constant";
    case Start::normal: return "normal";
    case Start::uniform: return "uniform";
    case Start::truncated_normal: return "truncated_normal";
    case Start::orthogonal: break;
  }
  return "orthogonal";
}

InitPlan init_plan(const ModelSpec& spec) {
  InitPlan plan;
  plan.network = build_network(spec);
  Planner planner(spec, plan);
  for_each_layer(plan.network.layers, planner);
  planner.finish();
  return plan;
}

}  // namespace scalecalc
