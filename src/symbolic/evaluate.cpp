#include "symbolic/evaluate.hpp"

#include <cmath>
#include "base/text.hpp"

namespace scalecalc {
namespace symbolic {
namespace {

[[noreturn]] void unbound(const Expr& symbol) {
  throw Error(ErrorKind::input, "the symbol '" + base::shortened(symbol.name()) + "' has no value",
              {}, "give " + base::shortened(symbol.name()) + " a value");
}

[[noreturn]] void not_positive(const Expr& symbol, const std::string& value) {
  throw Error(ErrorKind::input, symbol.name() + " stands for a positive number",
              symbol.name() + " = " + value);
}

struct InDouble {
  const Bindings& values;

  double number(const Rational& value) const { return value.to_double(); }
  double pi() const { return std::acos(-1.0); }
  double symbol(const Expr& expr) const {
    const auto found = values.find(expr.name());
    if (found == values.end()) unbound(expr);
    if (expr.assumption() == Assumption::positive && found->second < 0) {
      not_positive(expr, std::to_string(found->second));
    }
    return found->second;
  }
  double call(const Function& function, std::span<const double> arguments) const {
    return function.in_double(arguments);
  }
};

struct InIntervals {
  const std::map<std::string, Rational>& values;
  mpfr_prec_t bits;

  Interval number(const Rational& value) const { return Interval(value, bits); }
  Interval pi() const { return Interval::pi(bits); }
  Interval symbol(const Expr& expr) const {
    const auto found = values.find(expr.name());
    if (found == values.end()) unbound(expr);
    return Interval(found->second, bits);
  }
  Interval call(const Function& function, std::span<const Interval> arguments) const {
    return function.in_interval(arguments);
  }
};

}  // namespace

Interval enclose(const Expr& expr, const std::map<std::string, Rational>& values,
                 mpfr_prec_t bits) {
  return evaluate_in<Interval>(expr, InIntervals{values, bits});
}

}  // namespace symbolic

double evaluate(const Expr& expr, const Bindings& values) {
  return symbolic::evaluate_in<double>(expr, symbolic::InDouble{values});
}

}  // namespace scalecalc
