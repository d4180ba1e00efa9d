#include "activation/rewrite.hpp"

#include <string_view>

#include "symbolic/canonical.hpp"

namespace scalecalc::activation_room {
namespace {

using Kind = Expr::Kind;

Expr call(const char* name, const Expr& argument) {
  return Expr::function(name, {argument});
}
Expr half_of(const Expr& u) {
  return Expr(Rational(1, 2)) * u;
}

/// c + c f(u) for the functions f whose complement has a name.
std::optional<Expr> one_plus(std::string_view f, const Expr& u) {
  if (f == "tanh") return 2 * call("sigmoid", 2 * u);
  if (f == "erf") return call("erfc", -u);
  return std::nullopt;
}

/// 1 - f(u)
std::optional<Expr> one_minus(std::string_view f, const Expr& u) {
  if (f == "exp") return -call(expm1_name, u);
  if (f == "tanh") return 2 * call("sigmoid", -2 * u);
  if (f == "sigmoid" || f == "Phi") return call(f == "Phi" ? "Phi" : "sigmoid", -u);
  if (f == "erf") return call("erfc", u);
  if (f == "erfc") return call("erf", u);
  if (f == "cos") return 2 * pow(call("sin", half_of(u)), 2);
  if (f == "cosh") return -2 * pow(call("sinh", half_of(u)), 2);
  return std::nullopt;
}

/// 1 - f(u)^2
std::optional<Expr> one_minus_square(std::string_view f, const Expr& u) {
  if (f == "tanh") return 4 * call("sigmoid", 2 * u) * call("sigmoid", -2 * u);
  if (f == "cos") return pow(call("sin", u), 2);
  if (f == "sin") return pow(call("cos", u), 2);
  if (f == "erf") return call("erfc", u) * call("erfc", -u);
  if (f == "cosh") return -pow(call("sinh", u), 2);
  return std::nullopt;
}

/// 1/2 - f(u)
std::optional<Expr> half_minus(std::string_view f, const Expr& u) {
  if (f == "sigmoid") return half_of(call("tanh", half_of(-u)));
  if (f == "Phi") return half_of(call("erf", -u * pow(Expr(2), Rational(-1, 2))));
  return std::nullopt;
}

/// constant + coefficient * rest, as one.
std::optional<Expr> paired(const Rational& constant, const symbolic::Scaled& term) {
  const bool squared = term.rest.kind() == Kind::power && term.rest.operands()[1] == Expr(2);
  const Expr& function = squared ? term.rest.operands()[0] : term.rest;
  if (function.kind() != Kind::function || function.operands().size() != 1) return std::nullopt;
  const Expr& u = function.operands()[0];
  const Rational ratio = term.coefficient / constant;
  std::optional<Expr> result;
  if (ratio == Rational(-1)) {
    result = squared ? one_minus_square(function.name(), u) : one_minus(function.name(), u);
  } else if (ratio.is_one() && !squared) {
    result = one_plus(function.name(), u);
  } else if (ratio == Rational(-2) && !squared) {
    if (const auto half = half_minus(function.name(), u)) result = 2 * *half;
  }
  if (!result) return std::nullopt;
  return Expr(constant) * *result;
}

std::optional<Expr> with_constant(const std::vector<Expr>& terms) {
  if (!terms[0].is_number()) return std::nullopt;
  for (std::size_t k = 1; k < terms.size(); ++k) {
    const auto pair = paired(terms[0].number(), symbolic::split_coefficient(terms[k]));
    if (!pair) continue;
    std::vector<Expr> rest{*pair};
    for (std::size_t j = 1; j < terms.size(); ++j) {
      if (j != k) rest.push_back(terms[j]);
    }
    return symbolic::add(std::move(rest));
  }
  return std::nullopt;
}

/// The sum that stands with a negative exponent in a term.
std::optional<Expr> denominator_in(const Expr& term) {
  const std::vector<Expr> alone{term};
  for (const Expr& factor : term.kind() == Kind::product ? term.operands() : alone) {
    if (factor.kind() == Kind::power && factor.operands()[0].kind() == Kind::sum &&
        factor.operands()[1].is_number() && factor.operands()[1].number().sign() < 0) {
      return factor;
    }
  }
  return std::nullopt;
}

/// a/D + b/D^2 = (a D + b)/D^2, when multiplying out shortens it.
std::optional<Expr> over_common_denominator(const Expr& sum) {
  std::optional<Expr> lowest;
  int seen = 0;
  for (const Expr& term : sum.operands()) {
    const auto power = denominator_in(term);
    if (!power) continue;
    ++seen;
    if (!lowest || lowest->operands()[0] == power->operands()[0]) {
      if (!lowest || power->operands()[1].number() < lowest->operands()[1].number()) {
        lowest = power;
      }
    } else {
      return std::nullopt;
    }
  }
  if (seen == 0) return std::nullopt;
  std::vector<Expr> numerator;
  for (const Expr& term : sum.operands()) numerator.push_back(expand(term / *lowest));
  const Expr total = expand(symbolic::add(std::move(numerator)));
  const Expr result = total * *lowest;
  return result.node().size < sum.node().size ? std::optional(result) : std::nullopt;
}

}  // namespace

std::optional<Expr> without_cancellation(const Expr& sum) {
  if (const auto paired = with_constant(sum.operands())) return paired;
  return over_common_denominator(sum);
}

std::optional<OnePlusExp> one_plus_exp(const Expr& sum) {
  if (sum.kind() != Kind::sum || sum.operands().size() != 2 || !sum.operands()[0].is_number()) {
    return std::nullopt;
  }
  const symbolic::Scaled term = symbolic::split_coefficient(sum.operands()[1]);
  if (!symbolic::is_function(term.rest, "exp")) return std::nullopt;
  if (!(term.coefficient == sum.operands()[0].number())) return std::nullopt;
  return OnePlusExp{term.coefficient, term.rest.operands()[0]};
}

}  // namespace scalecalc::activation_room
