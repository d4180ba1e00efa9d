#include "activation/pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/text.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::activation_room {
namespace {

using Kind = Expr::Kind;

bool switches(const Expr& expr) {
  constexpr std::string_view names[] = {"max", "min", "abs", "sign", "step", "relu"};
  return expr.kind() == Kind::function &&
         std::find(std::begin(names), std::end(names), expr.name()) != std::end(names);
}

bool has_switch(const Expr& expr) {
  return switches(expr) || std::any_of(expr.operands().begin(), expr.operands().end(), has_switch);
}

Expr rebuilt(const Expr& expr, std::vector<Expr> operands) {
  switch (expr.kind()) {
    case Kind::sum: return symbolic::add(std::move(operands));
    case Kind::product: return symbolic::multiply(std::move(operands));
    case Kind::power: return pow(operands[0], operands[1]);
    case Kind::function: return Expr::function(expr.name(), std::move(operands));
    default: return expr;
  }
}

/// The operand of max (turn = 1) or min (turn = -1) that rules at a point.
Expr chosen(const std::vector<Expr>& operands, const Real& sample, int turn) {
  Expr best = operands[0];
  for (const Expr& other : operands) {
    if (sign_at(other - best, sample) == turn) best = other;
  }
  return best;
}

/// A switching function of smooth operands, as it is around a point.
Expr resolved_switch(const Expr& expr, const std::vector<Expr>& operands, const Real& sample) {
  if (expr.name() == "max") return chosen(operands, sample, 1);
  if (expr.name() == "min") return chosen(operands, sample, -1);
  const int sign = operands[0].is_zero() ? 0 : sign_at(operands[0], sample);
  if (expr.name() == "sign") return sign;
  if (expr.name() == "step") return Expr(Rational(1 + sign, 2));
  if (expr.name() == "relu") return sign > 0 ? operands[0] : Expr(0);
  return sign < 0 ? -operands[0] : operands[0];
}

Expr resolved(const Expr& expr, const Real& sample) {
  if (!has_switch(expr)) return expr;
  std::vector<Expr> operands;
  for (const Expr& operand : expr.operands()) operands.push_back(resolved(operand, sample));
  return switches(expr) ? resolved_switch(expr, operands, sample)
                        : rebuilt(expr, std::move(operands));
}

/// The same, saying where a piece cannot be: log(max(x, 0)) below 0.
Expr resolved_around(const Expr& expr, const Real& sample) {
  try {
    return resolved(expr, sample);
  } catch (const Error& error) {
    throw Error(ErrorKind::input,
                fmt::format("'{}' has no real value at x = {:.6g}: {}",
                            base::shortened(to_string(expr), 60),
                            mpfr_get_d(sample.get(), MPFR_RNDN), error.message()),
                {}, error.hint());
  }
}

/// What changes its sign where the function switches.
std::vector<Expr> switching_expressions(const Expr& expr, const std::vector<Expr>& operands) {
  if (expr.name() != "max" && expr.name() != "min") return operands;
  std::vector<Expr> differences;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) differences.push_back(operands[i] - operands[j]);
  }
  return differences;
}

void check_count(const std::vector<Root>& places) {
  if (places.size() <= most_roots) return;
  throw Error(ErrorKind::input, "an activation with more than 64 kinks or jumps", {},
              "write it with fewer of max, min, abs, sign, step and relu");
}

/// Everywhere the expression may switch.
std::vector<Root> places_of(const Expr& expr, const std::vector<Root>& poles) {
  std::vector<Root> places;
  if (!has_switch(expr)) return places;
  places = poles;
  for (const Expr& operand : expr.operands()) {
    const std::vector<Root> inner = places_of(operand, poles);
    places.insert(places.end(), inner.begin(), inner.end());
    check_count(places);
  }
  sort_roots(places);
  if (!switches(expr)) return places;
  const std::vector<Root> inner = places;
  for (std::size_t k = 0; k <= inner.size(); ++k) {
    const Real sample = inside_piece(inner, k);
    std::vector<Expr> operands;
    for (const Expr& operand : expr.operands()) {
      operands.push_back(resolved_around(operand, sample));
    }
    for (const Expr& difference : switching_expressions(expr, operands)) {
      const auto roots = real_roots(difference, low_end(inner, k), high_end(inner, k));
      places.insert(places.end(), roots.begin(), roots.end());
      check_count(places);
    }
  }
  sort_roots(places);
  return places;
}

/// The same function on both sides, to canonical form or 50 digits at random points.
bool are_same(const Expr& left, const Expr& right, const Root& place) {
  if (left == right) return true;
  const Real at = real(place.where, 200);
  Expr difference = left - right;
  for (int order = 0; order < 3; ++order) {
    const Interval gap = enclose_over(difference, point(at));
    Real size(64);
    mpfr_abs(size.get(), gap.lower.get(), MPFR_RNDN);
    if (gap.is_nan() || (size.sign() != 0 && mpfr_get_exp(size.get()) > -100)) return false;
    difference = differentiate(difference, "x");
  }
  return equal(left, right).verdict == Equality::Verdict::equal;
}

}  // namespace

double low_end(const std::vector<Root>& breaks, std::size_t index) {
  return index == 0 ? -std::numeric_limits<double>::infinity() : breaks[index - 1].at;
}

double high_end(const std::vector<Root>& breaks, std::size_t index) {
  return index == breaks.size() ? std::numeric_limits<double>::infinity() : breaks[index].at;
}

Real inside_piece(const std::vector<Root>& breaks, std::size_t index) {
  constexpr mpfr_prec_t bits = 256;
  // No round number: such are often roots.
  const Real outside = real(1.0859375);
  if (breaks.empty()) return outside;
  Real result = real(breaks[index == 0 ? 0 : index - 1].where, bits);
  if (index == 0) {
    mpfr_sub(result.get(), result.get(), outside.get(), MPFR_RNDN);
  } else if (index == breaks.size()) {
    mpfr_add(result.get(), result.get(), outside.get(), MPFR_RNDN);
  } else {
    Real step = real(breaks[index].where, bits);
    mpfr_sub(step.get(), step.get(), result.get(), MPFR_RNDN);
    mpfr_mul_d(step.get(), step.get(), 0.53125, MPFR_RNDN);
    mpfr_add(result.get(), result.get(), step.get(), MPFR_RNDN);
  }
  return result;
}

Pieces split_into_pieces(const Expr& expr, const std::vector<Root>& poles) {
  const std::vector<Root> places = places_of(expr, poles);
  Pieces pieces;
  for (std::size_t k = 0; k <= places.size(); ++k) {
    Expr piece = resolved_around(expr, inside_piece(places, k));
    if (k > 0 && are_same(pieces.expressions.back(), piece, places[k - 1])) continue;
    if (k > 0) pieces.breaks.push_back(places[k - 1]);
    pieces.expressions.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace scalecalc::activation_room
