#include "claims/engine.hpp"

#include <cmath>

#include "claims/enclosed.hpp"

namespace scalecalc::claims {
namespace {

constexpr std::int64_t most_steps = 1000000;

void collect_leaves(const Expr& expr, std::map<std::string, std::size_t>& found) {
  if (expr.kind() == Expr::Kind::symbol && Engine::is_leaf(expr.name()))
    found.emplace(expr.name(), std::stoul(expr.name().substr(6)));
  for (const Expr& operand : expr.operands()) collect_leaves(operand, found);
}

double finite(double value) {
  if (std::isfinite(value)) return value;
  throw Error(ErrorKind::input, "a side of the claim has no finite value here", "",
              "leave out the points where it is infinite or undefined");
}

}  // namespace

Engine::Engine(ClaimMethod method, const CheckOptions& options, Networks& networks)
    : method_(method), options_(options), networks_(networks) {}

Expr Engine::leaf(const Estimate& estimate) {
  finite(estimate.value);
  leaves_.push_back(estimate);
  return Expr::symbol("leaf__" + std::to_string(leaves_.size() - 1), Assumption::real);
}

Estimate Engine::estimate(const Expr& expr) const {
  std::map<std::string, std::size_t> found;
  collect_leaves(expr, found);
  Bindings at;
  for (const auto& [name, index] : found) at[name] = leaves_[index].value;
  Estimate result;
  result.value = finite(evaluate(expr, at));
  for (const auto& [name, index] : found) {
    const double error = leaves_[index].error;
    if (error == 0) continue;
    at[name] = leaves_[index].value + error;
    result.error += std::abs(finite(evaluate(expr, at)) - result.value);
    at[name] = leaves_[index].value;
  }
  return result;
}

std::map<std::string, std::size_t> Engine::leaves_of(const Expr& expr) const {
  std::map<std::string, std::size_t> found;
  collect_leaves(expr, found);
  return found;
}

Estimate Engine::certain(const Expr& expr) const {
  Estimate result = estimate(expr);
  Values at;
  for (const auto& [name, index] : leaves_of(expr))
    at[name] = Rational::exactly(leaves_[index].value);
  if (const std::optional<double> value = value_at(expr, at)) result.value = *value;
  return result;
}

double Engine::magnitude(const Expr& expr) const {
  Bindings at;
  for (const auto& [name, index] : leaves_of(expr)) at[name] = leaves_[index].value;
  return claims::magnitude(expr, at);
}

Expr Engine::without_leaves(const Expr& expr) const {
  std::map<std::string, std::size_t> found;
  collect_leaves(expr, found);
  std::map<std::string, Expr> values;
  for (const auto& [name, index] : found) {
    const Estimate& estimate = leaves_[index];
    if (estimate.error > 1e-12 * std::abs(estimate.value))
      throw NotApplicable{"an expectation of what is known only with an error of its own"};
    values.emplace(name, Expr(Rational::exactly(estimate.value)));
  }
  return values.empty() ? expr : substitute(expr, values);
}

void Engine::spend(std::int64_t steps) {
  steps_ += steps;
  if (steps_ > most_steps)
    throw Error(ErrorKind::input,
                "more than " + std::to_string(most_steps) + " steps in the loops of one claim", "",
                "use fewer terms");
}

}  // namespace scalecalc::claims
