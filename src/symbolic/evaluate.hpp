#pragma once

#include "base/deadline.hpp"
#include "base/text.hpp"
#include "symbolic/arithmetic.hpp"
#include "symbolic/functions.hpp"

namespace scalecalc::symbolic {

/// The value of an expression over a number type. A context supplies number(Rational), pi(),
/// symbol(Expr) and call(Function, arguments).
template <class Number, class Context>
Number evaluate_in(const Expr& expr, const Context& context) {
  const std::vector<Expr>& operands = expr.operands();
  const auto value = [&](std::size_t k) { return evaluate_in<Number>(operands[k], context); };
  switch (expr.kind()) {
    case Expr::Kind::number: return context.number(expr.number());
    case Expr::Kind::constant: return context.pi();
    case Expr::Kind::symbol: return context.symbol(expr);
    case Expr::Kind::sum: {
      Number total = value(0);
      for (std::size_t k = 1; k < operands.size(); ++k) total = total + value(k);
      return total;
    }
    case Expr::Kind::product: {
      Number total = value(0);
      for (std::size_t k = 1; k < operands.size(); ++k) total = total * value(k);
      return total;
    }
    case Expr::Kind::power:
      if (operands[1].is_number()) return arithmetic::pow(value(0), operands[1].number());
      return arithmetic::pow(value(0), value(1));
    case Expr::Kind::function: break;
  }
  base::check_deadline();
  const Function* function = expr.node().function;
  if (!function || !function->in_double) {
    throw Error(ErrorKind::input,
                "the function '" + base::shortened(expr.name()) + "' has no numeric value");
  }
  std::vector<Number> arguments;
  for (std::size_t k = 0; k < operands.size(); ++k) arguments.push_back(value(k));
  return context.call(*function, arguments);
}

/// A certain enclosure at so many bits. Every symbol needs an exact value.
Interval enclose(const Expr& expr, const std::map<std::string, Rational>& values, mpfr_prec_t bits);

/// The common decimal digits of both ends of the interval when rounded to so many of them: sign,
/// digits and the place of the point before the first, as in 0.DIGITS * 10^exponent.
struct Decimal {
  bool minus = false;
  std::string digits;
  long exponent = 0;
};
std::optional<Decimal> agreed_digits(const Interval& value, int digits);
/// Rounded half to even; the value is not 0.
Decimal rounded(const Rational& value, int digits);
std::string positional(const Decimal& decimal);
/// 0 with as many digits.
std::string positional_zero(int digits);
/// Whether a value that stays below 2^-2048 is all that is left of a cancellation.
bool is_cancelled(const Expr& expr);

}  // namespace scalecalc::symbolic
