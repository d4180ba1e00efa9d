#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "scalecalc/symbolic.hpp"
#include "symbolic/functions.hpp"
#include "symbolic/node.hpp"

namespace scalecalc::testing {

/// The same formula twice: as built by the canonical form, and node by node without it.
struct Twin {
  Expr canonical, raw;
};

/// Random expressions over real x, y and positive N, M.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_()) % bound; }

  /// Tries again where the canonical form refuses (1/0, log(-1), ...).
  Twin next(int depth) {
    while (true) {
      try {
        return draw(depth);
      } catch (const Error&) {
      }
    }
  }

  Rational rational() {
    return Rational(static_cast<std::int64_t>(below(13)) - 6,
                    1 + static_cast<std::int64_t>(below(4)));
  }

 private:
  Twin leaf() {
    switch (below(6)) {
      case 0: return both(Expr::symbol("x", Assumption::real));
      case 1: return both(Expr::symbol("y", Assumption::real));
      case 2: return both(Expr::symbol("N"));
      case 3: return both(Expr::symbol("M"));
      case 4: return below(3) == 0 ? both(Expr::pi()) : both(Expr(2));
      default: return both(Expr(rational()));
    }
  }

  static Twin both(const Expr& expr) { return {expr, expr}; }

  Twin draw(int depth) {
    if (depth <= 0) return leaf();
    switch (below(7)) {
      case 0:
      case 1: return sum(draw(depth - 1), draw(depth - 1));
      case 2:
      case 3: return product(draw(depth - 1), draw(depth - 1));
      case 4: return product(draw(depth - 1), power(draw(depth - 1), Rational(-1)));
      case 5: return power(draw(depth - 1), exponent());
      default: return function(draw(depth - 1));
    }
  }

  Rational exponent() {
    static const std::vector<Rational> usual{2,
                                             3,
                                             -1,
                                             -2,
                                             Rational(1, 2),
                                             Rational(-1, 2),
                                             Rational(1, 3),
                                             Rational(3, 4),
                                             Rational(-5, 4),
                                             Rational(1, 16),
                                             Rational(3, 2),
                                             Rational(2, 3)};
    return usual[below(static_cast<std::uint32_t>(usual.size()))];
  }

  static Twin sum(const Twin& a, const Twin& b) {
    return {a.canonical + b.canonical, symbolic::raw_sum({a.raw, b.raw})};
  }
  static Twin product(const Twin& a, const Twin& b) {
    return {a.canonical * b.canonical, symbolic::raw_product({a.raw, b.raw})};
  }
  static Twin power(const Twin& base, const Rational& by) {
    return {pow(base.canonical, by), symbolic::raw_power(base.raw, by)};
  }

  Twin function(const Twin& argument) {
    static const std::vector<std::string> names{
        "exp",  "log",     "sin",      "cos",  "tanh", "erf",  "erfc",
        "Phi",  "sigmoid", "softplus", "abs",  "sign", "step", "relu",
        "gelu", "silu",    "atan",     "sinh", "cosh", "min",  "max"};
    const std::string& name = names[below(static_cast<std::uint32_t>(names.size()))];
    std::vector<Expr> canonical{argument.canonical}, raw{argument.raw};
    if (name == "min" || name == "max") {
      const Twin other = leaf();
      canonical.push_back(other.canonical);
      raw.push_back(other.raw);
    }
    return {Expr::function(name, canonical),
            symbolic::raw_function(name, symbolic::find_function(name), raw)};
  }

  std::mt19937 random_;
};

}  // namespace scalecalc::testing
