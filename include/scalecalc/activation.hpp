#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/symbolic.hpp"

/// Activations, each one symbolic expression in the real symbol x.
namespace scalecalc {

struct ActivationInfo {
  std::string name;
  Expr expression;  ///< in x
};

const std::vector<ActivationInfo>& activations();
std::vector<std::string> activation_names();
/// Throws Error(input) with the nearest names; `where` names the option or the file position.
const ActivationInfo& activation(std::string_view name, const std::string& where = "activation");

}  // namespace scalecalc
