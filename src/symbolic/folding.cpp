#include <algorithm>

#include "base/text.hpp"
#include "symbolic/canonical.hpp"
#include "symbolic/functions.hpp"

namespace scalecalc::symbolic::folding {
namespace {

using Kind = Expr::Kind;

Expr call(const char* name, const Expr& argument) {
  return Expr::function(name, {argument});
}

/// c*log(v) as v^c, when the term has just that form.
std::optional<Expr> power_of_log(const Expr& term) {
  if (is_function(term, "log")) return term.operands()[0];
  if (term.kind() != Kind::product) return std::nullopt;
  std::vector<Expr> rest;
  std::optional<Expr> base;
  for (const Expr& factor : term.operands()) {
    if (!base && is_function(factor, "log")) {
      base = factor.operands()[0];
    } else {
      rest.push_back(factor);
    }
  }
  if (!base) return std::nullopt;
  return pow(*base, multiply(std::move(rest)));
}

/// x has the sign of sign * rest: factors that are never 0 count by their sign alone, and a sum is
/// brought to coefficients without a common divisor.
struct Direction {
  int sign = 1;
  Expr rest;
};

Direction direction_of(const Expr& x) {
  Direction direction;
  std::vector<Expr> rest;
  const std::vector<Expr> alone{x};
  for (const Expr& factor : x.kind() == Kind::product ? x.operands() : alone) {
    if (signs_of(factor) == sign::negative) {
      direction.sign = -direction.sign;
    } else if (!factor.is_positive()) {
      rest.push_back(factor);
    }
  }
  direction.rest = multiply(std::move(rest));
  if (direction.rest.kind() == Kind::sum) {
    direction.rest = split_content(direction.rest, false).primitive;
  }
  return direction;
}

/// The factors of known sign, with that sign taken out of them, and the others.
struct BySign {
  int sign = 1;
  std::vector<Expr> known, unknown;
};

BySign split_by_sign(const Expr& expr) {
  BySign split;
  const std::vector<Expr> alone{expr};
  for (const Expr& factor : expr.kind() == Kind::product ? expr.operands() : alone) {
    if (is_nonnegative(factor)) {
      split.known.push_back(factor);
    } else if (within(signs_of(factor), sign::nonpositive)) {
      split.known.push_back(-factor);
      split.sign = -split.sign;
    } else {
      split.unknown.push_back(factor);
    }
  }
  return split;
}

/// |factor| for a factor of unknown sign.
Expr absolute_factor(const Expr& factor) {
  if (factor.kind() == Kind::power && factor.operands()[1].is_number()) {
    const Expr &base = factor.operands()[0], &exponent = factor.operands()[1];
    if (exponent.number().is_integer()) return pow(call("abs", base), exponent);
  }
  if (factor.kind() != Kind::sum) return raw_function("abs", find_function("abs"), {factor});
  const Content split = split_content(factor, true);
  const Expr rest = raw_function("abs", find_function("abs"), {split.primitive});
  return split.content.sign() < 0 ? rest * Expr(-split.content) : rest * Expr(split.content);
}

/// The multiple of pi, when the expression is one.
std::optional<Rational> multiple_of_pi(const Expr& expr) {
  const Scaled split = split_coefficient(expr);
  if (expr.is_zero()) return Rational(0);
  if (split.rest.kind() != Kind::constant) return std::nullopt;
  return split.coefficient;
}

bool is_integer(const Rational& value) {
  return value.is_integer();
}

enum class Extreme { least, greatest };

/// Whether `a` can be left out beside `b`.
bool is_dominated(const Expr& a, const Expr& b, Extreme extreme) {
  const Expr lead = extreme == Extreme::greatest ? b - a : a - b;
  return is_nonnegative(lead);
}

std::optional<Expr> extreme_of(const Arguments& arguments, Extreme extreme) {
  const char* name = extreme == Extreme::greatest ? "max" : "min";
  Arguments flat;
  for (const Expr& argument : arguments) {
    if (is_function(argument, name)) {
      flat.insert(flat.end(), argument.operands().begin(), argument.operands().end());
    } else {
      flat.push_back(argument);
    }
  }
  std::sort(flat.begin(), flat.end(), [](const Expr& a, const Expr& b) {
    return a.is_number() != b.is_number() ? b.is_number() : a < b;
  });
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  constexpr std::size_t most_compared = 16;
  for (std::size_t k = 0; k < flat.size() && flat.size() <= most_compared;) {
    const bool drop = std::any_of(flat.begin(), flat.end(), [&](const Expr& other) {
      return &other != &flat[k] && is_dominated(flat[k], other, extreme);
    });
    if (drop) {
      flat.erase(flat.begin() + static_cast<std::ptrdiff_t>(k));
      k = 0;
    } else {
      ++k;
    }
  }
  if (flat.size() == 1) return flat[0];
  if (flat == arguments) return std::nullopt;
  return raw_function(name, find_function(name), std::move(flat));
}

}  // namespace

std::optional<Expr> exponential(const Arguments& arguments) {
  const Expr& x = arguments[0];
  if (x.is_zero()) return Expr(1);
  if (x.kind() != Kind::sum) return power_of_log(x);
  std::vector<Expr> factors, rest;
  for (const Expr& term : x.operands()) {
    if (std::optional<Expr> factor = power_of_log(term)) {
      factors.push_back(*factor);
    } else {
      rest.push_back(term);
    }
  }
  if (factors.empty()) return std::nullopt;
  if (!rest.empty()) factors.push_back(exp(add(std::move(rest))));
  return multiply(std::move(factors));
}

std::optional<Expr> logarithm(const Arguments& arguments) {
  const Expr& x = arguments[0];
  if (x.is_one()) return Expr(0);
  if (x.is_number() && x.number().sign() <= 0) {
    throw Error(ErrorKind::input,
                "log(" + base::shortened(x.number().to_string(), 40) + ") has no value", {},
                "log needs a positive argument");
  }
  if (is_function(x, "exp")) return x.operands()[0];
  if (x.kind() == Kind::power && x.operands()[0].is_positive()) {
    return x.operands()[1] * log(x.operands()[0]);
  }
  return std::nullopt;
}

std::optional<Expr> absolute(const Arguments& arguments) {
  const Expr& x = arguments[0];
  if (is_nonnegative(x)) return x;
  const BySign split = split_by_sign(x);
  if (split.known.empty() && x.kind() != Kind::product) {
    const Expr result = absolute_factor(x);
    if (is_function(result, "abs") && result.operands()[0] == x) return std::nullopt;
    return result;
  }
  std::vector<Expr> factors = split.known;
  for (const Expr& factor : split.unknown) factors.push_back(absolute_factor(factor));
  return multiply(std::move(factors));
}

std::optional<Expr> signum(const Arguments& arguments) {
  const Expr& x = arguments[0];
  if (x.is_zero()) return Expr(0);
  const Direction direction = direction_of(x);
  if (direction.rest.is_one()) return Expr(direction.sign);
  if (direction.rest == x) return std::nullopt;
  return Expr(direction.sign) * call("sign", direction.rest);
}

std::optional<Expr> step(const Arguments& arguments) {
  const Expr& x = arguments[0];
  if (x.is_zero()) return Expr(Rational(1, 2));
  const Direction direction = direction_of(x);
  if (direction.rest.is_one()) return Expr(direction.sign > 0 ? 1 : 0);
  const Expr rest = direction.sign > 0 ? direction.rest : -direction.rest;
  if (rest == x) return std::nullopt;
  return call("step", rest);
}

std::optional<Expr> relu(const Arguments& arguments) {
  const Expr& x = arguments[0];
  if (is_nonnegative(x)) return x;
  if (within(signs_of(x), sign::nonpositive)) return Expr(0);
  return std::nullopt;
}

std::optional<Expr> sine(const Arguments& arguments) {
  const std::optional<Rational> turns = multiple_of_pi(arguments[0]);
  if (!turns) return std::nullopt;
  if (is_integer(*turns)) return Expr(0);
  const Rational half = *turns - Rational(1, 2), sixth = *turns - Rational(1, 6),
                 other = *turns - Rational(5, 6);
  if (is_integer(half)) return is_integer(half / 2) ? Expr(1) : Expr(-1);
  for (const Rational& shift : {sixth, other}) {
    if (is_integer(shift)) return Expr(Rational(is_integer(shift / 2) ? 1 : -1, 2));
  }
  return std::nullopt;
}

std::optional<Expr> cosine(const Arguments& arguments) {
  const std::optional<Rational> turns = multiple_of_pi(arguments[0]);
  if (!turns) return std::nullopt;
  return sine({Expr(*turns + Rational(1, 2)) * Expr::pi()});
}

std::optional<Expr> tangent(const Arguments& arguments) {
  const std::optional<Rational> turns = multiple_of_pi(arguments[0]);
  if (!turns) return std::nullopt;
  if (is_integer(*turns)) return Expr(0);
  if (is_integer(*turns - Rational(1, 4))) return Expr(1);
  if (is_integer(*turns + Rational(1, 4))) return Expr(-1);
  if (is_integer(*turns - Rational(1, 2))) {
    throw Error(ErrorKind::input, "tan has no value at odd multiples of pi/2");
  }
  return std::nullopt;
}

std::optional<Expr> arcsine(const Arguments& arguments) {
  const Expr& x = arguments[0];
  if (x.is_zero()) return Expr(0);
  if (x.is_one()) return Expr::pi() / 2;
  if (x == Expr(Rational(1, 2))) return Expr::pi() / 6;
  return std::nullopt;
}

std::optional<Expr> arccosine(const Arguments& arguments) {
  const Expr& x = arguments[0];
  if (x == Expr(-1)) return Expr::pi();
  if (x == Expr(Rational(-1, 2))) return Expr::pi() * Expr(2) / 3;
  if (const std::optional<Expr> complement = arcsine(arguments))
    return Expr::pi() / 2 - *complement;
  return std::nullopt;
}

std::optional<Expr> arctangent(const Arguments& arguments) {
  if (arguments[0].is_zero()) return Expr(0);
  if (arguments[0].is_one()) return Expr::pi() / 4;
  return std::nullopt;
}

std::optional<Expr> zero_at_zero(const Arguments& arguments) {
  return arguments[0].is_zero() ? std::optional<Expr>(0) : std::nullopt;
}

std::optional<Expr> one_at_zero(const Arguments& arguments) {
  return arguments[0].is_zero() ? std::optional<Expr>(1) : std::nullopt;
}

std::optional<Expr> half_at_zero(const Arguments& arguments) {
  return arguments[0].is_zero() ? std::optional<Expr>(Rational(1, 2)) : std::nullopt;
}

std::optional<Expr> minimum(const Arguments& arguments) {
  return extreme_of(arguments, Extreme::least);
}

std::optional<Expr> maximum(const Arguments& arguments) {
  return extreme_of(arguments, Extreme::greatest);
}

}  // namespace scalecalc::symbolic::folding
