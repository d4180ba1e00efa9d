#include "architectures/substitute.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

using Kind = Expression::Kind;

bool is_constant(const Expression& expression) {
  return expression.kind() == Kind::constant;
}

Value value_of(const Expression& constant) {
  return constant.evaluate([](const std::string&) { return nullptr; });
}

/// A choice whose condition is known, and words whose left side decides.
Expression decided(Expression expression) {
  const std::vector<Expression>& operands = expression.operands();
  if (operands.empty() || !is_constant(operands[0])) return expression;
  const bool first = is_true(value_of(operands[0]));
  if (expression.kind() == Kind::choice) return operands[first ? 1 : 2];
  if (expression.name() == "and") return operands[first ? 1 : 0];
  if (expression.name() == "or") return operands[first ? 0 : 1];
  return expression;
}

Expression folded(Expression expression) {
  if (!std::all_of(expression.operands().begin(), expression.operands().end(), is_constant))
    return decided(std::move(expression));
  try {
    return Expression::constant(value_of(expression));
  } catch (const Error&) {
    return expression;  // it fails where it is asked for
  }
}

}  // namespace

Expression substituted(const Expression& expression, const Origin& origin) {
  if (is_constant(expression)) return expression;
  if (expression.kind() == Kind::name) {
    const auto local = origin.locals.find(expression.name());
    if (local != origin.locals.end()) return local->second;
    if (!origin.within) return expression;
    return Expression::call("[]", {*origin.within, Expression::constant(expression.name())});
  }
  if (expression.name() == "given") {
    const std::string& key = expression.operands().at(0).name();
    if (origin.locals.count(key) == 0 && !origin.is_key(key)) return Expression::constant(false);
  }
  std::vector<Expression> operands;
  for (const Expression& operand : expression.operands())
    operands.push_back(substituted(operand, origin));
  return folded(expression.with(std::move(operands)));
}

}  // namespace scalecalc::architectures
