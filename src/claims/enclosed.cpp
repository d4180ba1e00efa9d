#include "claims/enclosed.hpp"

#include <cmath>

#include "symbolic/evaluate.hpp"
#include "symbolic/real.hpp"

namespace scalecalc::claims {
namespace {

using symbolic::Interval;

constexpr mpfr_prec_t first_bits = 192, last_bits = 1536;
/// Of values that are only shown, or looked at by a search: a few cancelled digits are met.
constexpr mpfr_prec_t bits_of_values = 384;
/// 50 decimal digits.
constexpr mpfr_exp_t agreed_bits = 167;

mpfr_exp_t exponent_of(const symbolic::Real& value) {
  return value.sign() == 0 ? mpfr_get_emin() : mpfr_get_exp(value.get());
}

mpfr_exp_t size_of(const Interval& value) {
  return std::max(exponent_of(value.lower), exponent_of(value.upper));
}

bool is_bounded(const Interval& value) {
  return value.lower.is_finite() && value.upper.is_finite();
}

symbolic::Real width_of(const Interval& value) {
  symbolic::Real width(value.bits());
  mpfr_sub(width.get(), value.upper.get(), value.lower.get(), MPFR_RNDU);
  return width;
}

/// Whether both sides agree to 50 digits, or are both below 2^-768, which only a side that is 0
/// everywhere is.
bool agree(const Interval& difference, const Interval& left, const Interval& right) {
  const symbolic::Real width = width_of(difference);
  if (width.sign() == 0) return true;
  if (!is_bounded(difference)) return false;
  const mpfr_exp_t size = std::max(size_of(left), size_of(right));
  return exponent_of(width) < size - agreed_bits ||
         (difference.bits() >= last_bits && size < -last_bits / 2);
}

/// Enclosures at more and more bits until `done` is satisfied with one.
template <class Done>
void narrowed(mpfr_prec_t most_bits, const Done& done) {
  const symbolic::WideExponents wide;
  try {
    for (mpfr_prec_t bits = first_bits; bits <= most_bits; bits *= 2)
      if (done(bits)) return;
  } catch (const Error&) {
    // A pole, or an opaque function: no value here.
  }
}

/// Exactly, where both sides are rational at the point.
std::optional<Order> exact_order(const Expr& left, const Expr& right, const Values& at) {
  std::map<std::string, Expr> values;
  for (const auto& [name, value] : at) values.emplace(name, Expr(value));
  try {
    const Expr difference = substitute(left, values) - substitute(right, values);
    if (!difference.is_number()) return std::nullopt;
    const int sign = difference.number().sign();
    return sign < 0 ? Order::less : sign > 0 ? Order::greater : Order::equal;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<Order> order_at(const Expr& left, const Expr& right, const Values& at, bool exactly) {
  std::optional<Order> order;
  narrowed(last_bits, [&](mpfr_prec_t bits) {
    const Interval a = symbolic::enclose(left, at, bits), b = symbolic::enclose(right, at, bits);
    if (a.is_nan() || b.is_nan()) return true;
    const Interval difference = a - b;
    if (difference.is_nan()) return true;
    if (difference.lower.sign() > 0) order = Order::greater;
    if (difference.upper.sign() < 0) order = Order::less;
    if (!order && agree(difference, a, b)) order = Order::equal;
    return order.has_value();
  });
  if (order == Order::equal && exactly) return exact_order(left, right, at);
  return order;
}

std::optional<double> value_at(const Expr& expr, const Values& at) {
  std::optional<double> result;
  narrowed(bits_of_values, [&](mpfr_prec_t bits) {
    const Interval value = symbolic::enclose(expr, at, bits);
    if (value.is_nan()) return true;
    const symbolic::Real width = width_of(value);
    if (!is_bounded(value)) return false;
    if (width.sign() != 0 && exponent_of(width) > size_of(value) - 60) return false;
    result = mpfr_get_d(value.upper.get(), MPFR_RNDN);
    return true;
  });
  if (result && !std::isfinite(*result)) return std::nullopt;
  return result;
}

double magnitude(const Expr& expr, const Bindings& at) {
  double result = 0;
  switch (expr.kind()) {
    case Expr::Kind::sum:
      for (const Expr& term : expr.operands()) result += magnitude(term, at);
      return result;
    case Expr::Kind::product:
      result = 1;
      for (const Expr& factor : expr.operands()) result *= magnitude(factor, at);
      return result;
    case Expr::Kind::power:
      if (expr.operands()[1].is_number() && expr.operands()[1].number().sign() > 0)
        return std::pow(magnitude(expr.operands()[0], at), expr.operands()[1].number().to_double());
      break;
    default: break;
  }
  return std::abs(evaluate(expr, at));
}

}  // namespace scalecalc::claims
