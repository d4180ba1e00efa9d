#include "claims/sides.hpp"

#include <algorithm>

#include "claims/lowering.hpp"

namespace scalecalc::claims {
namespace {

bool contains_any(const Expr& expr, const Gaussians& gaussians) {
  if (expr.kind() == Expr::Kind::symbol) return gaussians.find(expr.name()) != nullptr;
  return std::any_of(expr.operands().begin(), expr.operands().end(),
                     [&](const Expr& operand) { return contains_any(operand, gaussians); });
}

}  // namespace

Sides sides_at(const Claim& claim, const std::map<std::string, Expr>& values, Engine& engine) {
  Scope scope = open_scope(claim.let, values, engine);
  Lowering lower(claim.place, scope, engine);
  Sides sides{lower(claim.assertion.left), lower(claim.assertion.right), {}};
  sides.domains = scope.domains;
  for (const auto& [side, node] :
       {std::pair{&sides.left, &claim.assertion.left}, {&sides.right, &claim.assertion.right}})
    if (contains_any(*side, scope.gaussians))
      lower.fail(*node, "a side of the claim is random", "put it into an expectation: E[...]");
  return sides;
}

std::vector<std::map<std::string, Expr>> grid_of(const Claim& claim) {
  std::vector<std::map<std::string, Expr>> points(1);
  for (const auto& [name, values] : claim.grid) {
    std::vector<std::map<std::string, Expr>> more;
    for (const auto& point : points)
      for (const Expr& value : values) {
        more.push_back(point);
        more.back().insert_or_assign(name, value);
      }
    points = std::move(more);
  }
  return points;
}

std::string point_text(const std::map<std::string, Expr>& values) {
  std::string result;
  for (const auto& [name, value] : values)
    result += (result.empty() ? "" : ", ") + name + " = " +
              (value.is_number() ? short_text(value.number()) : to_string(value));
  return result;
}

bool uses(const Claim& claim, bool (*what)(const Node&)) {
  if (what(claim.assertion.left) || what(claim.assertion.right)) return true;
  return std::any_of(claim.let.begin(), claim.let.end(), [&](const Declaration& d) {
    return d.kind == Declaration::Kind::value && what(d.value);
  });
}

bool is_of_network(const Node& node) {
  return mentions(node, "site") || mentions(node, "parameter") || mentions(node, "slope");
}

bool has_moments(const Node& node) {
  return is_of_network(node) || mentions(node, "profile") || mentions(node, "quantity");
}

}  // namespace scalecalc::claims
