#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"

namespace scalecalc {

/// What is wrong with a spec, and in which fields ("heads", "init.bias_variance"), the likeliest
/// first.
struct SpecProblem {
  std::vector<std::string> fields;
  std::string message, hint;
};
std::optional<SpecProblem> find_problem(const ModelSpec& spec);

/// A formula's value; `name` is the field in messages.
double formula_value(const Expr& formula, const Bindings& values, const std::string& name);
/// The symbols of attention_scale.
Bindings attention_bindings(const ModelSpec& spec);

}  // namespace scalecalc
