#include <cmath>

#include "base/text.hpp"
#include "gaussian/closed_form/terms.hpp"

namespace scalecalc::gaussian {
namespace {

[[noreturn]] void outside(const Expr& factor) {
  throw NoForm{base::shortened(to_string(factor)) +
               " is not made of polynomials, exponentials, sin, cos, erf and Phi"};
}

Terms one_term(const Shape& shape, const Expr& coefficient = 1) {
  Terms terms;
  add(terms, shape, coefficient);
  return terms;
}

/// The coefficients of a polynomial in x of degree 2 or less.
struct Quadratic {
  Expr constant, linear, square;
};

std::optional<Quadratic> quadratic_of(const Expr& argument) {
  const Expr zero(0);
  Expr slope;
  try {
    slope = expand(differentiate(argument, "x"));
  } catch (const Error&) {
    return std::nullopt;
  }
  const Expr bend = expand(differentiate(slope, "x"));
  if (bend.contains("x")) return std::nullopt;
  return Quadratic{substitute(argument, {{"x", zero}}), substitute(slope, {{"x", zero}}),
                   bend * Expr(Rational(1, 2))};
}

class Reader {
 public:
  explicit Reader(Ring& ring) : ring_(ring) {}

  Terms read(const Expr& expr) {
    if (!expr.contains("x")) return one_term({}, expr);
    switch (expr.kind()) {
      case Expr::Kind::sum: {
        Terms total;
        for (const Expr& term : expr.operands()) total = sum(total, read(term));
        return total;
      }
      case Expr::Kind::product: {
        Terms total = one_term({});
        for (const Expr& factor : expr.operands()) total = product(ring_, total, read(factor));
        return total;
      }
      case Expr::Kind::power: return read_power(expr);
      case Expr::Kind::function: return read_function(expr);
      default: break;
    }
    Shape x;
    x.powers[0] = 1;
    return one_term(x);
  }

 private:
  Terms read_power(const Expr& expr) {
    const Expr &base = expr.operands()[0], &exponent = expr.operands()[1];
    if (!base.contains("x"))
      return base.is_positive() ? exponential(expr, log(base) * exponent) : outside_terms(expr);
    const auto count = exponent.is_number() ? exponent.number().to_int64() : std::nullopt;
    if (!count || *count < 0) outside(expr);
    if (*count > highest_degree) too_high();
    return power(ring_, read(base), static_cast<int>(*count));
  }

  [[noreturn]] static void too_high() {
    throw NoForm{"its polynomials exceed degree " + std::to_string(highest_degree)};
  }
  [[noreturn]] static Terms outside_terms(const Expr& expr) { outside(expr); }

  Terms read_function(const Expr& expr) {
    const std::string& name = expr.name();
    const Expr& argument = expr.operands()[0];
    if (name == "exp") return exponential(expr, argument);
    if (name == "sinh" || name == "cosh") {
      const Expr half(Rational(1, 2));
      return read(expand(half * exp(argument) + (name == "cosh" ? half : -half) * exp(-argument)));
    }
    if (name == "gelu") return product(ring_, read(argument), normal(expr, argument, "Phi"));
    if (name == "Phi" || name == "erf" || name == "erfc") return normal(expr, argument, name);
    if (name == "sin" || name == "cos") return wave(expr, argument, name == "sin");
    outside(expr);
  }

  Terms exponential(const Expr& expr, const Expr& argument) {
    const std::optional<Quadratic> parts = quadratic_of(argument);
    if (!parts) outside(expr);
    Shape shape;
    shape.linear[0] = ring_.constant(parts->linear);
    shape.quadratic[0] = ring_.constant(-parts->square);
    if (!parts->square.is_zero() && evaluate(parts->square) > 0) {
      throw NoForm{"the expectation of " + base::shortened(to_string(expr)) +
                   " exists for a small variance alone"};
    }
    shape.exponent = ring_.constant(parts->constant);
    return one_term(shape);
  }

  /// Phi(a x + b) = P(z < a x + b) = P(x - z/a > -b/a) for a > 0; erf(x) = 2 Phi(2^(1/2) x) - 1.
  Terms normal(const Expr& expr, const Expr& argument, const std::string& name) {
    const std::optional<Quadratic> parts = quadratic_of(argument);
    if (!parts || !parts->square.is_zero()) outside(expr);
    const double slope = evaluate(parts->linear);
    if (!std::isfinite(slope) || slope == 0) outside(expr);
    const bool rising = slope > 0;
    HalfLine half_line;
    half_line.threshold = ring_.constant(-parts->constant / parts->linear);
    half_line.noise = ring_.constant(pow(parts->linear, -2));
    if (name != "Phi") half_line.noise = half_line.noise * Ratio(Rational(1, 2));
    Expr coefficient = 1;
    if (name == "erf") {
      half_line.sense = Sense::sign;
      coefficient = rising ? 1 : -1;
    } else {
      half_line.sense = rising == (name == "Phi") ? Sense::right : Sense::left;
      coefficient = name == "erfc" ? 2 : 1;
    }
    Shape shape;
    shape.half_lines = {half_line};
    return one_term(shape, coefficient);
  }

  Terms wave(const Expr& expr, const Expr& argument, bool sine) {
    const std::optional<Quadratic> parts = quadratic_of(argument);
    if (!parts || !parts->square.is_zero()) outside(expr);
    Shape shape;
    shape.wave = {
        true, sine, {ring_.constant(parts->linear), Ratio(0)}, ring_.constant(parts->constant)};
    // Through the product, which brings the sign of the slope to its canonical form.
    return product(ring_, one_term(shape), one_term({}));
  }

  Ring& ring_;
};

}  // namespace

Terms read_terms(Ring& ring, const Expr& expr) {
  return Reader(ring).read(expr);
}

}  // namespace scalecalc::gaussian
