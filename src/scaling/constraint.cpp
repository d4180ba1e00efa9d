#include <cmath>

#include "base/text.hpp"
#include "scaling/block.hpp"

namespace scalecalc {
namespace {

constexpr const char* accepted =
    "use symmetric, alpha=X or lambda=X, X a positive number or a formula in ";

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

}  // namespace

Constraint Constraint::parse(std::string_view text, const std::string& depth_symbol) {
  const std::string where = "--constraint";
  const std::string whole = trimmed(text);
  if (whole == "symmetric") return {};
  const auto split = whole.find('=');
  const std::string name = trimmed(whole.substr(0, split));
  if (split == std::string::npos || (name != "alpha" && name != "lambda"))
    throw Error(ErrorKind::input, "unknown constraint '" + base::shortened(whole) + "'", where,
                accepted + depth_symbol);

  ParseOptions options;
  options.known_symbols = {depth_symbol};
  options.where = where + " " + name;
  Constraint constraint;
  constraint.kind = name == "alpha" ? Kind::alpha : Kind::lambda;
  constraint.value = scalecalc::parse(trimmed(whole.substr(split + 1)), options);
  const double at_one = evaluate(constraint.value, {{depth_symbol, 1.0}});
  if (constraint.value.is_number() && !(at_one > 0))
    throw Error(ErrorKind::input,
                name + " must be positive (got " + scalecalc::to_string(constraint.value) + ")",
                where, accepted + depth_symbol);
  return constraint;
}

std::string Constraint::to_string() const {
  switch (kind) {
    case Kind::symmetric: return "symmetric";
    case Kind::alpha: return "alpha=" + scalecalc::to_string(value);
    case Kind::lambda: break;
  }
  return "lambda=" + scalecalc::to_string(value);
}

Constraint default_constraint(const StepLaw& law, Placement placement) {
  const Block block = block_of(placement);
  if (!carries_alpha(block)) return {Constraint::Kind::alpha, 1};
  // A norm that ends the branch hides lambda from the forward pass.
  if (!branch_size(block).contains("lambda")) return {Constraint::Kind::lambda, 1};
  if (law.parameter_power.sign() > 0) return {Constraint::Kind::alpha, 1};
  return {};
}

}  // namespace scalecalc
