#pragma once

#include <map>
#include <optional>
#include <string>

#include "scalecalc/activation.hpp"
#include "tensor/device.hpp"

namespace scalecalc::tensor {

/// How the passes compute one activation: a kernel of their own, or else its expression.
struct PointFunction {
  ActivationKind kind = ActivationKind::identity;
  std::optional<Activation> expression;
};

/// A kernel as a function that is always there.
const PointFunction& native_function(ActivationKind kind);
/// The kernel of an activation, where there is one.
std::optional<ActivationKind> native_kind(const std::string& function);
/// A name of the registry, or an expression in x. Throws Error(input) naming `where`.
PointFunction find_function(const std::string& function, const std::string& where);

/// The functions of one network, each prepared once.
class Functions {
 public:
  void add(const std::string& function, const std::string& where) {
    if (!all_.contains(function)) all_.emplace(function, find_function(function, where));
  }
  const PointFunction& at(const std::string& function) const { return all_.at(function); }

 private:
  std::map<std::string, PointFunction> all_;
};

}  // namespace scalecalc::tensor
