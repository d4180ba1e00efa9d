#include <optional>

#include "activation/enclosure.hpp"
#include "activation/program.hpp"
#include "activation/rewrite.hpp"
#include "base/text.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::activation_room {
namespace {

using Kind = Expr::Kind;

constexpr std::int64_t largest_integer_power = 64;

/// u and k of exp(k u^2) for k = -2^n.
struct NegativeSquare {
  Expr base;
  double factor;
};
std::optional<NegativeSquare> negative_square(const Expr& exponent) {
  const symbolic::Scaled split = symbolic::split_coefficient(exponent);
  if (split.rest.kind() != Kind::power || !(split.rest.operands()[1] == Expr(2))) {
    return std::nullopt;
  }
  const auto top = split.coefficient.numerator().to_int64();
  const auto bottom = split.coefficient.denominator().to_int64();
  const auto is_power_of_two = [](std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; };
  if (!top || !bottom || !is_power_of_two(-*top) || !is_power_of_two(*bottom)) return std::nullopt;
  return NegativeSquare{split.rest.operands()[0], split.coefficient.to_double()};
}

}  // namespace

int Lowering::lower(const Expr& expr) {
  const auto found = known_.find(expr);
  if (found != known_.end()) return found->second;
  const int node = lower_new(expr);
  known_.emplace(expr, node);
  return node;
}

int Lowering::lower_new(const Expr& expr) {
  if (!expr.contains("x")) return builder_.constant(constant_value(expr));
  switch (expr.kind()) {
    case Kind::symbol: return builder_.input();
    case Kind::sum: return lower_sum(expr);
    case Kind::product: return lower_product(expr);
    case Kind::power: return lower_power(expr.operands()[0], expr.operands()[1]);
    default: break;
  }
  return lower_call(expr.name(), expr.operands()[0]);
}

int Lowering::lower_sum(const Expr& sum) {
  if (const std::optional<Expr> other = without_cancellation(sum)) return lower(*other);
  std::vector<Expr> terms, constants;
  for (const Expr& term : sum.operands()) (term.contains("x") ? terms : constants).push_back(term);
  const int total = add_terms(terms, -1);
  if (constants.empty()) return total;
  return builder_.emit(Op::shift, total, -1, constant_value(symbolic::add(std::move(constants))));
}

int Lowering::add_terms(const std::vector<Expr>& terms, int total) {
  for (const Expr& term : terms) {
    const symbolic::Scaled split = symbolic::split_coefficient(term);
    const double k = split.coefficient.to_double();
    const int node = lower(split.rest);
    if (total < 0) {
      total = builder_.scaled(node, k);
    } else if (k == 1) {
      total = builder_.emit(Op::add, total, node);
    } else if (k == -1) {
      total = builder_.emit(Op::subtract, total, node);
    } else {
      total = builder_.emit(Op::scale_add, node, total, k);
    }
  }
  return total;
}

int Lowering::lower_product(const Expr& product) {
  std::vector<Expr> constants, above, below;
  for (const Expr& factor : product.operands()) {
    if (!factor.contains("x")) {
      constants.push_back(factor);
    } else if (factor.kind() == Kind::power && factor.operands()[1].is_number() &&
               factor.operands()[1].number().sign() < 0 && !one_plus_exp(factor.operands()[0])) {
      below.push_back(factor);
    } else {
      above.push_back(factor);
    }
  }
  int total = -1;
  for (const Expr& factor : gathered(above)) {
    const int node = lower(factor);
    total = total < 0 ? node : builder_.multiplied(total, node);
  }
  const double k = constants.empty() ? 1 : constant_value(symbolic::multiply(std::move(constants)));
  total = total < 0 ? builder_.constant(k) : builder_.scaled(total, k);
  for (const Expr& power : below) {
    total = lower_quotient(total, power.operands()[0], -power.operands()[1].number());
  }
  return total;
}

/// total / base^exponent, one factor at a time: base^2 may overflow where the quotient does not.
int Lowering::lower_quotient(int total, const Expr& base, const Rational& exponent) {
  const auto count = exponent.to_int64();
  if (!count || *count > largest_integer_power) {
    return builder_.emit(Op::divide, total, lower(pow(base, Expr(exponent))));
  }
  const int node = lower(base);
  if (*count > 2) {
    const int inverse = builder_.emit(Op::divide, builder_.constant(1), node);
    return builder_.multiplied(total, builder_.raised(inverse, *count));
  }
  for (std::int64_t k = 0; k < *count; ++k) total = builder_.emit(Op::divide, total, node);
  return total;
}

/// exp(u) (1 + exp(u))^-n = sigmoid(u) (1 + exp(u))^(1-n): the product would be infinity times 0.
std::vector<Expr> Lowering::gathered(const std::vector<Expr>& factors) {
  std::vector<Expr> result = factors;
  for (Expr& power : result) {
    if (power.kind() != Kind::power) continue;
    const auto sum = one_plus_exp(power.operands()[0]);
    const auto count = power.operands()[1].number().to_int64();
    if (!sum || !count || *count >= 0) continue;
    for (Expr& other : result) {
      if (!symbolic::is_function(other, "exp")) continue;
      const Expr times = other.operands()[0] / sum->exponent;
      const auto whole = times.is_number() ? times.number().to_int64() : std::nullopt;
      if (!whole || *whole < 1 || *whole > -*count) continue;
      other = pow(Expr::function("sigmoid", {sum->exponent}), Expr(*whole));
      power = pow(Expr::function("sigmoid", {-sum->exponent}), Expr(-*count - *whole)) *
              pow(Expr(sum->factor), Expr(*count));
      break;
    }
  }
  return result;
}

int Lowering::lower_power(const Expr& base, const Expr& exponent) {
  if (!exponent.is_number()) {
    return builder_.emit(Op::power_of, lower(base), lower(exponent));
  }
  const Rational power = exponent.number(), size = power.sign() < 0 ? -power : power;
  if (power.sign() < 0) {
    if (const auto sum = one_plus_exp(base)) {
      return lower(pow(Expr::function("sigmoid", {-sum->exponent}), Expr(size)) *
                   pow(Expr(sum->factor), exponent));
    }
    return lower_quotient(builder_.constant(1), base, size);
  }
  const auto twice = (size + size).to_int64();
  const int node = lower(base);
  if (!twice || *twice > 2 * largest_integer_power) {
    return builder_.emit(Op::power, node, -1, power.to_double());
  }
  const int whole = *twice > 1 ? builder_.raised(node, *twice / 2) : -1;
  if (*twice % 2 == 0) return whole;
  const int root = builder_.emit(Op::square_root, node);
  return whole < 0 ? root : builder_.multiplied(whole, root);
}

int Lowering::lower_exp(const Expr& argument) {
  if (const auto square = negative_square(argument)) {
    return builder_.emit(Op::exp_of_square, lower(square->base), -1, square->factor);
  }
  return builder_.emit(Op::exp, lower(argument));
}

int Lowering::lower_log(const Expr& argument) {
  if (symbolic::is_function(argument, "sigmoid")) {
    return lower(-Expr::function("softplus", {-argument.operands()[0]}));
  }
  if (argument.kind() == Kind::sum && argument.operands()[0].is_one()) {
    if (const auto sum = one_plus_exp(argument)) {
      return lower(Expr::function("softplus", {sum->exponent}));
    }
    return builder_.emit(Op::log1p, lower(argument - 1));
  }
  return builder_.emit(Op::log, lower(argument));
}

int Lowering::lower_call(const std::string& name, const Expr& argument) {
  const auto call = [&](const char* function, const Expr& u) {
    return lower(Expr::function(function, {u}));
  };
  if (name == "exp") return lower_exp(argument);
  if (name == "log") return lower_log(argument);
  if (name == "gelu") return builder_.multiplied(lower(argument), call("Phi", argument));
  if (name == "silu") return builder_.multiplied(lower(argument), call("sigmoid", argument));
  const int u = lower(argument);
  // exp(-|u|) and exp(-u^2) serve both signs of u and several functions.
  const Expr plain = symbolic::prefers_opposite(argument) ? -argument : argument;
  if (name == "sigmoid" || name == "softplus") {
    const int e = builder_.emit(Op::exp_of_abs, lower(plain));
    return builder_.emit(name == "sigmoid" ? Op::sigmoid : Op::softplus, u, e);
  }
  if (name == "Phi" || name == "erf" || name == "erfc") {
    const int e = builder_.emit(Op::exp_of_square, lower(plain), -1, name == "Phi" ? -0.5 : -1.0);
    return builder_.emit(name == "Phi" ? Op::phi : name == "erf" ? Op::erf : Op::erfc, u, e);
  }
  static const std::map<std::string, Op> direct = {
      {expm1_name, Op::expm1}, {"tanh", Op::tanh}, {"sin", Op::sin},   {"cos", Op::cos},
      {"tan", Op::tan},        {"asin", Op::asin}, {"acos", Op::acos}, {"atan", Op::atan},
      {"sinh", Op::sinh},      {"cosh", Op::cosh}};
  const auto found = direct.find(name);
  if (found == direct.end()) {
    throw Error(ErrorKind::input,
                "the function '" + base::shortened(name, 40) + "' has no numeric value", "",
                "write the activation in functions of one number");
  }
  return builder_.emit(found->second, u);
}

}  // namespace scalecalc::activation_room
