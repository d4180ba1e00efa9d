#include "activation/enclosure.hpp"

#include <cmath>
#include <limits>

#include "base/deadline.hpp"
#include "symbolic/evaluate.hpp"

namespace scalecalc::activation_room {
namespace {

constexpr mpfr_prec_t first_bits = 128, last_bits = 4096, unbounded_bits = 512;

struct OverRange {
  const Interval& x;

  Interval number(const Rational& value) const { return Interval(value, x.bits()); }
  Interval pi() const { return Interval::pi(x.bits()); }
  Interval symbol(const Expr&) const { return x; }
  Interval call(const symbolic::Function& function, std::span<const Interval> arguments) const {
    return function.in_interval(arguments);
  }
};

Real widened(const Real& x, mpfr_prec_t bits) {
  Real result(std::max(bits, x.bits()));
  mpfr_set(result.get(), x.get(), MPFR_RNDN);
  return result;
}

/// Whether both ends round to the same double, or to neighbours.
bool is_settled(const Interval& value) {
  const double low = mpfr_get_d(value.lower.get(), MPFR_RNDN);
  const double high = mpfr_get_d(value.upper.get(), MPFR_RNDN);
  if (low == high) return true;
  Real width(value.bits());
  mpfr_sub(width.get(), value.upper.get(), value.lower.get(), MPFR_RNDU);
  mpfr_mul_2ui(width.get(), width.get(), 64, MPFR_RNDU);
  const Real& small = std::fabs(low) < std::fabs(high) ? value.lower : value.upper;
  return mpfr_cmpabs(width.get(), small.get()) <= 0;
}

}  // namespace

Real real(double value, mpfr_prec_t bits) {
  Real result(bits);
  mpfr_set_d(result.get(), value, MPFR_RNDN);
  return result;
}

Real real(const Expr& constant, mpfr_prec_t bits) {
  return symbolic::enclose(constant, {}, bits + 32).lower;
}

std::string decimal(const Real& value, int digits) {
  char* text = nullptr;
  mpfr_asprintf(&text, "%.*Re", digits - 1, value.get());
  std::string result = text;
  mpfr_free_str(text);
  return result;
}

Interval range(double low, double high, mpfr_prec_t bits) {
  Interval result(bits);
  mpfr_set_d(result.lower.get(), low, MPFR_RNDD);
  mpfr_set_d(result.upper.get(), high, MPFR_RNDU);
  return result;
}

Interval point(const Real& x) {
  Interval result(x.bits());
  result.lower = x;
  result.upper = x;
  return result;
}

Interval enclose_over(const Expr& expr, const Interval& x) {
  return symbolic::evaluate_in<Interval>(expr, OverRange{x});
}

int sign_at(const Expr& expr, const Real& x) {
  for (mpfr_prec_t bits = first_bits; bits <= last_bits; bits *= 2) {
    const Interval value = enclose_over(expr, point(widened(x, bits)));
    if (value.is_nan()) return 0;
    if (value.lower.sign() > 0) return 1;
    if (value.upper.sign() < 0) return -1;
  }
  return 0;
}

bool may_vanish_at(const Expr& expr, const Real& x) {
  constexpr mpfr_exp_t tiny = -333;
  const Interval value = enclose_over(expr, point(widened(x, 1024)));
  const auto is_tiny = [](const Real& end) {
    return end.is_finite() && (end.sign() == 0 || mpfr_get_exp(end.get()) < tiny);
  };
  return is_tiny(value.lower) && is_tiny(value.upper);
}

double value_at(const Expr& expr, const Real& x) {
  base::check_deadline();
  for (mpfr_prec_t bits = first_bits;; bits *= 2) {
    const Interval value = enclose_over(expr, point(widened(x, bits)));
    if (value.is_nan()) return std::numeric_limits<double>::quiet_NaN();
    const bool settled = is_settled(value);
    // Past the largest exponents there are, more bits do not help: log(1 + exp(1e19)).
    const bool is_bounded = value.lower.is_finite() && value.upper.is_finite();
    const mpfr_prec_t enough = is_bounded ? last_bits : unbounded_bits;
    if (!settled && bits >= enough) return std::numeric_limits<double>::quiet_NaN();
    if (settled) {
      Real middle(value.bits());
      mpfr_add(middle.get(), value.lower.get(), value.upper.get(), MPFR_RNDN);
      mpfr_div_2ui(middle.get(), middle.get(), 1, MPFR_RNDN);
      return mpfr_get_d(middle.get(), MPFR_RNDN);
    }
  }
}

double value_at(const Expr& expr, double x) {
  return value_at(expr, real(x));
}

double constant_value(const Expr& expr) {
  return expr.is_number() ? expr.number().to_double() : value_at(expr, real(0.0));
}

}  // namespace scalecalc::activation_room
