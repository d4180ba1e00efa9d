#include "tensor/functions.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "scalecalc/error.hpp"

namespace scalecalc::tensor {
namespace {

/// In the order of ActivationKind.
constexpr std::array<std::string_view, 6> kNames = {"identity", "relu",    "gelu",
                                                    "tanh",     "sigmoid", "selu"};

/// Letters, digits and underscores: a name, unless it is the variable itself.
bool is_name(const std::string& text) {
  const auto belongs = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool starts_with_digit = !text.empty() && text[0] >= '0' && text[0] <= '9';
  return text != "x" && !starts_with_digit && std::all_of(text.begin(), text.end(), belongs);
}

Activation expression(const std::string& text, const std::string& where) {
  try {
    return Activation::from_expression(text);
  } catch (const Error& error) {
    throw Error(error.kind(), "activation: " + error.message(),
                error.where().empty() ? where : where + ", " + error.where(), error.hint());
  }
}

}  // namespace

const PointFunction& native_function(ActivationKind kind) {
  static const auto all = [] {
    std::array<PointFunction, kNames.size()> made;
    for (std::size_t i = 0; i < made.size(); ++i) made[i].kind = static_cast<ActivationKind>(i);
    return made;
  }();
  return all[static_cast<std::size_t>(kind)];
}

std::optional<ActivationKind> native_kind(const std::string& function) {
  const auto found = std::find(kNames.begin(), kNames.end(), function);
  if (found == kNames.end()) return {};
  return static_cast<ActivationKind>(found - kNames.begin());
}

PointFunction find_function(const std::string& function, const std::string& where) {
  if (const auto kind = native_kind(function)) return {*kind, {}};
  if (!is_name(function)) return {ActivationKind::identity, expression(function, where)};
  const std::string& name = activation(function, where).name;
  if (const auto kind = native_kind(name)) return {*kind, {}};
  return {ActivationKind::identity, Activation::named(name)};
}

}  // namespace scalecalc::tensor
