#include "activation/domain.hpp"

#include <fmt/format.h>

#include <optional>

#include "activation/pieces.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::activation_room {
namespace {

using Kind = Expr::Kind;

/// What an operation asks of its operand.
enum class Need { not_zero, positive, not_negative };

struct Condition {
  Expr expr;
  Need need;
};

std::optional<Need> need_of(const Expr& power) {
  const Expr& exponent = power.operands()[1];
  if (!exponent.is_number()) return Need::positive;
  const bool whole = exponent.number().is_integer(), inverse = exponent.number().sign() < 0;
  if (whole) return inverse ? std::optional(Need::not_zero) : std::nullopt;
  return inverse ? Need::positive : Need::not_negative;
}

/// Inner operations first: the outer ones are examined where the inner ones have values.
void collect(const Expr& expr, std::vector<Condition>& conditions) {
  for (const Expr& operand : expr.operands()) collect(operand, conditions);
  if (expr.kind() == Kind::power) {
    if (const auto need = need_of(expr)) conditions.push_back({expr.operands()[0], *need});
  } else if (symbolic::is_function(expr, "log")) {
    conditions.push_back({expr.operands()[0], Need::positive});
  } else if (symbolic::is_function(expr, "tan")) {
    conditions.push_back({Expr::function("cos", expr.operands()), Need::not_zero});
  } else if (symbolic::is_function(expr, "asin") || symbolic::is_function(expr, "acos")) {
    conditions.push_back({1 - expr.operands()[0], Need::not_negative});
    conditions.push_back({1 + expr.operands()[0], Need::not_negative});
  }
}

bool always_holds(const Condition& condition) {
  return condition.expr.is_positive() ||
         (condition.need == Need::not_negative && symbolic::is_nonnegative(condition.expr));
}

class Domain {
 public:
  explicit Domain(const std::string& shown) : shown_(shown) {}

  void examine(const Condition& condition) {
    if (always_holds(condition)) return;
    const Pieces pieces = split_into_pieces(condition.expr, places_);
    std::vector<Root> zeros = pieces.breaks;
    for (std::size_t k = 0; k < pieces.expressions.size(); ++k) {
      const auto roots =
          real_roots(pieces.expressions[k], low_end(pieces.breaks, k), high_end(pieces.breaks, k));
      zeros.insert(zeros.end(), roots.begin(), roots.end());
    }
    sort_roots(zeros);
    for (std::size_t k = 0; k <= zeros.size(); ++k) {
      check_sign(condition, inside_piece(zeros, k));
    }
    if (condition.need == Need::not_negative) return;
    for (const Root& zero : zeros) {
      if (vanishes_beside(pieces, zero)) places_.push_back(zero);
    }
    sort_roots(places_);
  }

  std::vector<Root> places() && { return std::move(places_); }

 private:
  void check_sign(const Condition& condition, const Real& x) const {
    const int sign = sign_at(condition.expr, x);
    const bool holds = sign > 0 || (sign < 0 && condition.need == Need::not_zero) ||
                       (sign == 0 && condition.need == Need::not_negative);
    if (!holds) refuse_value(shown_, x);
  }

  /// At a break of the condition either side may vanish.
  static bool vanishes_beside(const Pieces& pieces, const Root& zero) {
    const Real x = real(zero.where, 512);
    for (std::size_t k = 0; k < pieces.expressions.size(); ++k) {
      const bool here =
          low_end(pieces.breaks, k) <= zero.at && zero.at <= high_end(pieces.breaks, k);
      if (here && may_vanish_at(pieces.expressions[k], x)) return true;
    }
    return false;
  }

  const std::string& shown_;
  std::vector<Root> places_;
};

}  // namespace

void refuse_value(const std::string& shown, const Real& x) {
  throw Error(
      ErrorKind::input,
      fmt::format("'{}' has no real value at x = {:.6g}", shown, mpfr_get_d(x.get(), MPFR_RNDN)),
      {},
      "an activation has a real value at every x; abs(x) and max(x, 0) keep arguments "
      "positive");
}

std::vector<Root> check_domain(const Expr& expr, const std::string& shown) {
  std::vector<Condition> conditions;
  collect(expr, conditions);
  Domain domain(shown);
  for (const Condition& condition : conditions) domain.examine(condition);
  return std::move(domain).places();
}

}  // namespace scalecalc::activation_room
