#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scalecalc/symbolic.hpp"

namespace scalecalc {

namespace symbolic {
struct Function;

/// Which signs a real value may have.
using Signs = unsigned;
namespace sign {
inline constexpr Signs negative = 1, zero = 2, positive = 4;
inline constexpr Signs nonnegative = zero | positive, nonpositive = zero | negative, any = 7;
}  // namespace sign
inline bool within(Signs signs, Signs allowed) {
  return (signs & ~allowed) == 0;
}
Signs opposite(Signs signs);

/// Operations may nest this deep: one bracket of a text gives up to four.
inline constexpr int deepest = 4 * ExprLimits::depth;
}  // namespace symbolic

struct Expr::Node {
  Kind kind = Kind::number;
  Rational number;
  std::string name;
  Assumption assumption = Assumption::real;
  std::vector<Expr> operands;
  const symbolic::Function* function = nullptr;  ///< null when not of the formula language
  symbolic::Signs signs = symbolic::sign::any;
  std::size_t hash = 0, size = 1;
  int depth = 1;
};

namespace symbolic {

/// Nodes as they stand, without simplification. Throw Error(input) past the limits.
Expr raw_sum(std::vector<Expr> terms);
Expr raw_product(std::vector<Expr> factors);
Expr raw_power(const Expr& base, const Expr& exponent);
Expr raw_function(std::string name, const Function* function, std::vector<Expr> arguments);

inline Signs signs_of(const Expr& expr) {
  return expr.node().signs;
}
inline bool is_nonnegative(const Expr& expr) {
  return within(signs_of(expr), sign::nonnegative);
}
inline bool is_function(const Expr& expr, const char* name) {
  return expr.kind() == Expr::Kind::function && expr.name() == name;
}

/// x is x^1: the parts by which products merge and everything is ordered.
const Expr& base_of(const Expr& expr);
const Expr& exponent_of(const Expr& expr);

/// The canonical order: numbers, constants, symbols, functions, sums, products; a power stands with
/// its base.
int compare(const Expr& a, const Expr& b);

}  // namespace symbolic
}  // namespace scalecalc
