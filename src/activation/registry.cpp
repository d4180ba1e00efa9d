#include <algorithm>

#include "activation/families.hpp"

namespace scalecalc {
namespace activation_room {

ActivationInfo define(std::string name, std::string_view formula, std::string source,
                      std::vector<ActivationParameter> parameters,
                      std::vector<std::string> aliases) {
  ParseOptions options;
  options.assumptions = {{"x", Assumption::real}};
  options.known_symbols = {"x"};
  for (const ActivationParameter& parameter : parameters) {
    options.assumptions[parameter.name] = Assumption::real;
    options.known_symbols.push_back(parameter.name);
  }
  options.where = name;
  Expr expression = parse(formula, options);
  return {std::move(name), std::move(aliases), std::move(expression), std::move(parameters),
          std::move(source)};
}

namespace {

Rows all_rows() {
  Rows rows;
  add_rectified(rows);
  add_exponential(rows);
  add_gated(rows);
  add_sigmoidal(rows);
  add_hard(rows);
  add_shrink(rows);
  add_smooth(rows);
  return rows;
}

}  // namespace
}  // namespace activation_room

const std::vector<ActivationInfo>& activations() {
  static const std::vector<ActivationInfo> all = activation_room::all_rows();
  return all;
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const ActivationInfo& info : activations()) {
    names.push_back(info.name);
    names.insert(names.end(), info.aliases.begin(), info.aliases.end());
  }
  return names;
}

const ActivationInfo& activation(std::string_view name, const std::string& where) {
  for (const ActivationInfo& info : activations()) {
    const auto& aliases = info.aliases;
    if (info.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
      return info;
    }
  }
  throw unknown_name("activation", name, activation_names(), where);
}

}  // namespace scalecalc
