#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

#include "passes/optimizer_rules.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/optimizer_mixture.hpp"
#include "scalecalc/optimizers.hpp"
#include "scalecalc/symbolic.hpp"

namespace scalecalc {
namespace {

using passes::OptimizerRule;

/// In the order of OptimizerRule.
constexpr std::array<std::string_view, 13> kNames = {
    "sgd",  "momentum",  "nesterov", "adam", "adamw",   "lion",   "lamb",
    "lars", "adafactor", "muon",     "ngd",  "rmsprop", "adagrad"};

[[noreturn]] void out_of_range(const char* name, double value, const char* hint) {
  throw Error(ErrorKind::input, fmt::format("{} is {}", name, value), "optimizer", hint);
}

void need_positive(const char* name, double value) {
  if (!(value > 0.0 && std::isfinite(value))) out_of_range(name, value, "use a number above 0");
}
void need_not_negative(const char* name, double value) {
  if (!(value >= 0.0 && std::isfinite(value))) out_of_range(name, value, "use 0 or more");
}
void need_share(const char* name, double value) {
  if (!(value >= 0.0 && value < 1.0)) out_of_range(name, value, "use 0 to 1, 1 excluded");
}

}  // namespace

OptimizerRule passes::optimizer_rule(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) throw unknown_name("optimizer", name, optimizer_names(), "optimizer");
  return static_cast<OptimizerRule>(found - kNames.begin());
}

bool passes::needs_global_norm(const OptimizerOptions& options) {
  return options.clip_norm > 0.0 || optimizer_rule(options.name) == OptimizerRule::ngd ||
         std::ranges::any_of(options.rest, needs_global_norm);
}

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names(kNames.begin(), kNames.end());
  return names;
}

std::string optimizer_text(const OptimizerOptions& options) {
  if (options.rest.empty()) return options.name;
  return to_string(OptimizerMixture{options.name, options.rest.front().name, options.first_roles});
}

OptimizerOptions optimizer_options(std::string_view text) {
  if (const auto mixture = read_mixture(text, "optimizer")) {
    OptimizerOptions options = optimizer_options(mixture->first);
    options.rest = {optimizer_options(mixture->second)};
    options.first_roles = mixture->roles;
    return options;
  }
  OptimizerOptions options;
  options.name = text;
  std::ranges::transform(options.name, options.name.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  switch (passes::optimizer_rule(options.name)) {
    case OptimizerRule::sgd:
    case OptimizerRule::momentum:
    case OptimizerRule::nesterov:
    case OptimizerRule::ngd: options.learning_rate = 0.01; break;
    case OptimizerRule::adam: break;
    case OptimizerRule::adamw: options.weight_decay = 0.01; break;
    case OptimizerRule::lion:
      options.learning_rate = 1e-4;
      options.beta2 = 0.99;
      break;
    case OptimizerRule::lamb:
      options.eps = 1e-6;
      options.weight_decay = 0.01;
      break;
    case OptimizerRule::lars:
      options.learning_rate = 1.0;
      options.weight_decay = 5e-4;
      break;
    case OptimizerRule::adafactor: options.learning_rate = 0.01; break;
    case OptimizerRule::rmsprop:
      options.learning_rate = 0.01;
      options.beta2 = 0.99;
      break;
    case OptimizerRule::adagrad:
      options.learning_rate = 0.01;
      options.eps = 1e-10;
      break;
    case OptimizerRule::muon:
      options.learning_rate = 0.02;
      options.momentum = 0.95;
      options.beta2 = 0.95;
      break;
  }
  return options;
}

OptimizerOptions rest_of(const OptimizerOptions& mixture) {
  OptimizerOptions rest = mixture.rest.front();
  rest.schedule = mixture.schedule;
  rest.clip_norm = mixture.clip_norm;
  rest.clip_value = mixture.clip_value;
  rest.first_roles.clear();
  rest.factors.clear();
  return rest;
}

ParameterFactors factors_of(const OptimizerOptions& options, const std::string& path) {
  const auto found = options.factors.find(path);
  return found == options.factors.end() ? ParameterFactors() : found->second;
}

void validate(const OptimizerOptions& o) {
  if (o.rest.size() > 1 || (o.rest.size() == 1 && !o.rest.front().rest.empty()))
    throw Error(ErrorKind::input, "a mixture is of two optimizers", "optimizer",
                "give rest one entry at most");
  for (const OptimizerOptions& rest : o.rest) validate(rest);
  passes::optimizer_rule(o.name);
  passes::validate(o.schedule);
  need_not_negative("learning_rate", o.learning_rate);
  need_not_negative("adamw_learning_rate", o.adamw_learning_rate);
  need_not_negative("weight_decay", o.weight_decay);
  need_share("momentum", o.momentum);
  need_share("beta1", o.beta1);
  need_share("beta2", o.beta2);
  need_positive("eps", o.eps);
  need_positive("trust", o.trust);
  need_positive("decay_power", o.decay_power);
  need_positive("clip_rms", o.clip_rms);
  need_positive("eps_square", o.eps_square);
  need_positive("eps_parameter", o.eps_parameter);
  need_not_negative("clip_norm", o.clip_norm);
  need_not_negative("clip_value", o.clip_value);
  for (const auto& [path, factors] : o.factors) {
    need_not_negative(("factors of learning_rate of " + path).c_str(), factors.learning_rate);
    need_not_negative(("factors of weight_decay of " + path).c_str(), factors.weight_decay);
    need_positive(("factors of eps of " + path).c_str(), factors.eps);
  }
  if (o.newton_schulz_steps < 1 || o.newton_schulz_steps > 100) {
    out_of_range("newton_schulz_steps", o.newton_schulz_steps, "use 1 to 100");
  }
  if (o.clip_norm > 0.0 && o.clip_value > 0.0) {
    throw Error(ErrorKind::input, "both clip_norm and clip_value are set", "optimizer",
                "use one of them");
  }
  if (o.application == OptimizerOptions::Application::streaming && passes::needs_global_norm(o)) {
    throw Error(ErrorKind::input,
                "streaming updates cannot know the norm of all gradients, which " +
                    std::string(o.clip_norm > 0.0 ? "clip_norm" : o.name) + " needs",
                "optimizer", "use automatic or whole");
  }
}

}  // namespace scalecalc
