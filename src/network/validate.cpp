#include "network/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "network/schemes.hpp"
#include "scalecalc/activation.hpp"

namespace scalecalc {
namespace {

using Problem = std::optional<SpecProblem>;
using Kind = ModelSpec::Kind;

constexpr std::int64_t max_size = 1000000;

Problem from_error(const std::string& field, const Error& error) {
  return SpecProblem{{field}, error.message(), error.hint()};
}

struct Size {
  const char* field;
  std::int64_t value;
  std::int64_t example;
};

Problem size_problem(const ModelSpec& spec) {
  std::vector<Size> sizes = {{"layers", spec.layers, 12},
                             {"width", spec.width, 64},
                             {"sequence", spec.sequence, 24},
                             {"batch", spec.batch, 1}};
  if (spec.kind == Kind::transformer) {
    sizes.push_back({"heads", spec.heads, 4});
    sizes.push_back({"ffn", spec.ffn, 256});
    sizes.push_back({"vocab", spec.vocab, 64});
  } else {
    sizes.push_back({"features", spec.features, 64});
    sizes.push_back({"classes", spec.vocab, 10});
  }
  for (const Size& size : sizes) {
    if (size.value < 1 || size.value > max_size)
      return SpecProblem{
          {size.field},
          fmt::format("{} must be from 1 to {}, got {}", size.field, max_size, size.value),
          fmt::format("for example {} = {}", size.field, size.example)};
  }
  return {};
}

/// The divisor of `width` nearest to `heads`.
std::int64_t nearest_divisor(std::int64_t width, std::int64_t heads) {
  std::int64_t nearest = 1;
  const auto consider = [&](std::int64_t divisor) {
    if (std::abs(divisor - heads) < std::abs(nearest - heads)) nearest = divisor;
  };
  for (std::int64_t divisor = 1; divisor * divisor <= width; ++divisor) {
    if (width % divisor != 0) continue;
    consider(divisor);
    consider(width / divisor);
  }
  return nearest;
}

Problem heads_problem(const ModelSpec& spec) {
  if (spec.kind != Kind::transformer || spec.width % spec.heads == 0) return {};
  const std::int64_t below = spec.width - spec.width % spec.heads, above = below + spec.heads;
  const std::string widths =
      below > 0 ? fmt::format("{} or {}", below, above) : fmt::format("{}", above);
  return SpecProblem{
      {"heads", "width"},
      fmt::format("[attention] heads must divide width (heads {}, width {})", spec.heads,
                  spec.width),
      fmt::format("use width {}, or heads {}", widths, nearest_divisor(spec.width, spec.heads))};
}

Problem placement_problem(const ModelSpec& spec) {
  const bool residual = spec.placement != Placement::none;
  const std::string name = to_string(spec.placement);
  if (residual && spec.norm == NormKind::none)
    return SpecProblem{{"norm", "placement"},
                       "placement " + name + " needs a norm, and norm is none",
                       "use norm = \"layernorm\" or \"rmsnorm\", or placement = \"none\""};
  if (spec.placement == Placement::sub_ln && spec.kind == Kind::mlp)
    return SpecProblem{{"placement"},
                       "placement sub-ln norms before an output projection, which a layer of an "
                       "mlp has not",
                       "use post, pre, res-post, sandwich or none"};
  const bool has_skip =
      spec.placement != Placement::sub_ln && (residual || spec.kind == Kind::transformer);
  if (!has_skip && spec.alpha && !spec.alpha->is_one())
    return SpecProblem{{"alpha", "placement"},
                       fmt::format("alpha has nothing to multiply in {} of placement {}, got {}",
                                   spec.kind == Kind::mlp ? "an mlp" : "a transformer", name,
                                   to_string(*spec.alpha)),
                       "use alpha = 1"};
  return {};
}

Problem finite_problem(const std::string& field, double value, bool may_be_zero) {
  if (std::isfinite(value) && (may_be_zero ? value >= 0 : value > 0)) return {};
  return SpecProblem{{field},
                     fmt::format("{} must be finite and {}, got {}", field,
                                 may_be_zero ? "not negative" : "positive", value),
                     fmt::format("for example {}", may_be_zero ? "0" : "1")};
}

Problem init_problem(const ModelSpec& spec) {
  const ModelSpec::Init& init = spec.init;
  const std::vector<std::string>& names = scheme_names();
  if (init.scheme == "std") {
    if (Problem problem = finite_problem("init.scheme.std", init.std, false)) return problem;
  } else if (init.scheme == "weight_variance") {
    if (Problem problem = finite_problem("init.weight_variance", init.weight_variance, false))
      return problem;
  } else if (std::find(names.begin(), names.end(), init.scheme) == names.end()) {
    return from_error("init.scheme", unknown_name("scheme", init.scheme, names, {}));
  } else if (spec.kind == Kind::mlp && is_transformer_scheme(init.scheme)) {
    return SpecProblem{{"init.scheme"},
                       "scheme " + init.scheme + " is defined by the parts of a transformer",
                       "use lecun, xavier, he or { std = 0.02 } for an mlp"};
  }
  if (Problem problem = finite_problem("init.bias_variance", init.bias_variance, true))
    return problem;
  if (init.bias_variance > 0 && !spec.bias)
    return SpecProblem{{"init.bias_variance"},
                       "bias_variance is given but the model has no biases",
                       "use bias = true, or leave bias_variance out"};
  return {};
}

Problem input_problem(const ModelSpec& spec) {
  const ModelSpec::Input& input = spec.input;
  if (Problem problem = finite_problem("input.second", input.second, false)) return problem;
  if (!(input.cross >= 0 && input.cross <= input.second))
    return SpecProblem{
        {"input.cross", "input.second"},
        fmt::format("cross must be from 0 to second = {}, got {}", input.second, input.cross),
        "cross = 0 makes tokens independent, cross = second makes them equal"};
  if (input.kind != InputKind::tokens) return {};
  if (spec.kind == Kind::mlp)
    return SpecProblem{
        {"input.kind"}, "an mlp reads gaussian inputs, not tokens", "use kind = \"gaussian\""};
  if (input.cross != 0)
    return SpecProblem{
        {"input.cross"},
        "cross of tokens follows from the vocabulary (second/vocab), it cannot be set",
        "leave cross out, or use kind = \"gaussian\""};
  return {};
}

Problem formula_problem(const std::string& field, const Expr& formula, const Bindings& values,
                        bool may_be_zero) {
  try {
    return finite_problem(field, formula_value(formula, values, field), may_be_zero);
  } catch (const Error& error) {
    return from_error(field, error);
  }
}

Problem scale_problem(const ModelSpec& spec) {
  Bindings depth = {{"N", static_cast<double>(spec.layers)}};
  if (spec.alpha)
    if (Problem problem = formula_problem("alpha", *spec.alpha, depth, false)) return problem;
  if (spec.lambda)
    if (Problem problem = formula_problem("lambda", *spec.lambda, depth, false)) return problem;
  if (spec.kind == Kind::transformer) {
    if (Problem problem = formula_problem("attention_scale", spec.attention_scale,
                                          attention_bindings(spec), false))
      return problem;
  }
  depth["lambda"] = spec.lambda ? formula_value(*spec.lambda, depth, "lambda") : 1;
  const std::vector<std::string>& roles = gain_roles(spec.kind);
  for (const auto& [role, gain] : spec.init.gain) {
    if (std::find(roles.begin(), roles.end(), role) == roles.end())
      return from_error("init.gain." + role, unknown_name("role", role, roles, {}));
    if (Problem problem = formula_problem("init.gain." + role, gain, depth, true)) return problem;
  }
  return {};
}

Problem activation_problem(const ModelSpec& spec) {
  try {
    activation(spec.activation, {});
    return {};
  } catch (const Error& error) {
    return from_error("activation", error);
  }
}

}  // namespace

double formula_value(const Expr& formula, const Bindings& values, const std::string& name) {
  try {
    return evaluate(formula, values);
  } catch (const Error& error) {
    throw Error(error.kind(), name + ": " + error.message(), error.where(),
                error.hint().empty() ? "use a number or another formula" : error.hint());
  }
}

Bindings attention_bindings(const ModelSpec& spec) {
  const std::int64_t head_width = spec.width / spec.heads;
  return {{"N", static_cast<double>(spec.layers)},
          {"width", static_cast<double>(spec.width)},
          {"head_width", static_cast<double>(head_width)}};
}

std::optional<SpecProblem> find_problem(const ModelSpec& spec) {
  if (Problem problem = size_problem(spec)) return problem;
  if (Problem problem = heads_problem(spec)) return problem;
  if (Problem problem = finite_problem("norm_eps", spec.norm_eps, true)) return problem;
  if (Problem problem = activation_problem(spec)) return problem;
  if (Problem problem = placement_problem(spec)) return problem;
  if (Problem problem = init_problem(spec)) return problem;
  if (Problem problem = input_problem(spec)) return problem;
  return scale_problem(spec);
}

void validate(const ModelSpec& spec, const std::string& where) {
  if (const std::optional<SpecProblem> problem = find_problem(spec))
    throw Error(ErrorKind::input, problem->message, where, problem->hint);
}

}  // namespace scalecalc
