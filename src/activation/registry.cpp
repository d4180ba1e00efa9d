#include "scalecalc/activation.hpp"

namespace scalecalc {
namespace {

ActivationInfo define(std::string name, std::string_view formula) {
  ParseOptions options;
  options.assumptions = {{"x", Assumption::real}};
  options.known_symbols = {"x"};
  options.where = name;
  return {std::move(name), parse(formula, options)};
}

}  // namespace

const std::vector<ActivationInfo>& activations() {
  static const std::vector<ActivationInfo> all = {
      define("identity", "x"),
      define("relu", "max(x, 0)"),
      define("gelu", "x*Phi(x)"),
      define("tanh", "tanh(x)"),
      define("sigmoid", "1/(1 + exp(-x))"),
      // Klambauer et al. 2017: the scale and slope for which N(0,1) is a fixed point.
      define("selu",
             "1.0507009873554804934193349852946*(max(x, 0) + "
             "1.6732632423543772848170429916717*min(exp(x) - 1, 0))"),
  };
  return all;
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const ActivationInfo& info : activations()) names.push_back(info.name);
  return names;
}

const ActivationInfo& activation(std::string_view name, const std::string& where) {
  for (const ActivationInfo& info : activations()) {
    if (info.name == name) return info;
  }
  throw unknown_name("activation", name, activation_names(), where);
}

}  // namespace scalecalc
