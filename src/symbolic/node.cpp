#include "symbolic/node.hpp"

#include <algorithm>
#include <functional>

#include "base/deadline.hpp"
#include "base/text.hpp"
#include "symbolic/functions.hpp"

namespace scalecalc::symbolic {
namespace {

using Kind = Expr::Kind;

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
}

Signs signs_of_sum(const std::vector<Expr>& terms) {
  Signs seen = 0;
  for (const Expr& term : terms) seen |= signs_of(term);
  const bool strict = std::any_of(terms.begin(), terms.end(),
                                  [](const Expr& term) { return !(signs_of(term) & sign::zero); });
  if (within(seen, sign::nonnegative)) return strict ? sign::positive : sign::nonnegative;
  if (within(seen, sign::nonpositive)) return strict ? sign::negative : sign::nonpositive;
  return sign::any;
}

Signs signs_of_product(const std::vector<Expr>& factors) {
  Signs result = sign::positive;
  for (const Expr& factor : factors) {
    const Signs next = signs_of(factor);
    Signs both = (result | next) & sign::zero;
    if (result & sign::positive) both |= next & ~sign::zero;
    if (result & sign::negative) both |= opposite(next) & ~sign::zero;
    result = both;
  }
  return result;
}

/// Of the real value, where there is one.
Signs signs_of_power(const Expr& base, const Expr& exponent) {
  const Signs of_base = signs_of(base);
  if (of_base == sign::positive) return sign::positive;
  if (!exponent.is_number()) return is_nonnegative(base) ? sign::nonnegative : sign::any;
  const Rational& number = exponent.number();
  Signs result = sign::nonnegative;
  if (number.is_integer() && !(number / 2).is_integer()) {
    result = of_base;
  } else if (number.is_integer() && !(of_base & sign::zero)) {
    return sign::positive;
  }
  return number.sign() < 0 ? result & ~sign::zero : result;
}

/// Fills in what is derived from the children and checks the limits.
Expr finish(Expr::Node node) {
  base::check_deadline();
  std::size_t hash = mix(static_cast<std::size_t>(node.kind), std::hash<std::string>{}(node.name));
  for (const Expr& child : node.operands) {
    hash = mix(hash, child.node().hash);
    node.size = std::min(node.size + child.node().size, ExprLimits::size + 1);
    node.depth = std::max(node.depth, child.node().depth + 1);
  }
  if (node.kind == Kind::number) {
    hash = mix(hash, std::hash<std::int64_t>{}(node.number.small_numerator()));
    hash = mix(hash, std::hash<std::int64_t>{}(node.number.small_denominator()));
  }
  node.hash = mix(hash, static_cast<std::size_t>(node.assumption));
  if (node.size > ExprLimits::size) {
    throw Error(ErrorKind::input, "the expression is too large", {},
                "expressions are limited to " + std::to_string(ExprLimits::size) + " nodes");
  }
  if (node.depth > deepest) {
    throw Error(ErrorKind::input, "the expression nests too deep", {},
                "operations may nest " + std::to_string(deepest) + " deep");
  }
  return Expr(std::make_shared<const Expr::Node>(std::move(node)));
}

Expr composite(Kind kind, std::vector<Expr> operands, Signs signs) {
  Expr::Node node;
  node.kind = kind;
  node.operands = std::move(operands);
  node.signs = signs;
  return finish(std::move(node));
}

int rank(const Expr& expr) {
  switch (expr.kind()) {
    case Kind::number: return 0;
    case Kind::constant: return 1;
    case Kind::symbol: return 2;
    case Kind::function: return 3;
    case Kind::sum: return 4;
    case Kind::product: return 5;
    case Kind::power: break;
  }
  return 6;
}

int compare_lists(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  const std::size_t shared = std::min(a.size(), b.size());
  for (std::size_t k = 0; k < shared; ++k) {
    if (const int order = compare(a[k], b[k])) return order;
  }
  return (a.size() > b.size()) - (a.size() < b.size());
}

int compare_numbers(const Rational& a, const Rational& b) {
  return (b < a) - (a < b);
}

}  // namespace

Signs opposite(Signs signs) {
  return (signs & sign::zero) | (signs & sign::negative ? sign::positive : 0) |
         (signs & sign::positive ? sign::negative : 0);
}

Expr raw_sum(std::vector<Expr> terms) {
  const Signs signs = signs_of_sum(terms);
  return composite(Kind::sum, std::move(terms), signs);
}

Expr raw_product(std::vector<Expr> factors) {
  const Signs signs = signs_of_product(factors);
  return composite(Kind::product, std::move(factors), signs);
}

Expr raw_power(const Expr& base, const Expr& exponent) {
  return composite(Kind::power, {base, exponent}, signs_of_power(base, exponent));
}

Expr raw_function(std::string name, const Function* function, std::vector<Expr> arguments) {
  Expr::Node node;
  node.kind = Kind::function;
  node.name = std::move(name);
  node.function = function;
  node.signs = function ? function->signs(arguments) : sign::any;
  node.operands = std::move(arguments);
  return finish(std::move(node));
}

const Expr& base_of(const Expr& expr) {
  return expr.kind() == Kind::power ? expr.operands()[0] : expr;
}

const Expr& exponent_of(const Expr& expr) {
  static const Expr one = 1;
  return expr.kind() == Kind::power ? expr.operands()[1] : one;
}

int compare(const Expr& a, const Expr& b) {
  if (&a.node() == &b.node()) return 0;
  if (a.kind() == Kind::power || b.kind() == Kind::power) {
    if (const int order = compare(base_of(a), base_of(b))) return order;
    return compare(exponent_of(a), exponent_of(b));
  }
  if (rank(a) != rank(b)) return rank(a) < rank(b) ? -1 : 1;
  switch (a.kind()) {
    case Kind::number: return compare_numbers(a.number(), b.number());
    case Kind::constant:
    case Kind::symbol: {
      if (const int order = a.name().compare(b.name())) return order;
      return static_cast<int>(a.node().assumption) - static_cast<int>(b.node().assumption);
    }
    case Kind::function: {
      if (const int order = a.name().compare(b.name())) return order;
      return compare_lists(a.operands(), b.operands());
    }
    default: return compare_lists(a.operands(), b.operands());
  }
}

}  // namespace scalecalc::symbolic

namespace scalecalc {

namespace {
symbolic::Signs signs_of_number(const Rational& value) {
  const int sign = value.sign();
  return sign > 0   ? symbolic::sign::positive
         : sign < 0 ? symbolic::sign::negative
                    : symbolic::sign::zero;
}
}  // namespace

Expr::Expr(std::int64_t value) : Expr(Rational(value)) {}

Expr::Expr(Rational value) {
  Node node;
  node.signs = signs_of_number(value);
  node.number = std::move(value);
  *this = symbolic::finish(std::move(node));
}

Expr Expr::symbol(std::string name, Assumption assumption) {
  if (!base::is_identifier(name) || name == "pi") {
    throw Error(ErrorKind::input, "'" + base::shortened(name) + "' cannot name a symbol", {},
                name == "pi" ? "pi is the constant" : "names are letters, digits and _");
  }
  Node node;
  node.kind = Kind::symbol;
  node.name = std::move(name);
  node.assumption = assumption;
  node.signs = assumption == Assumption::positive ? symbolic::sign::positive : symbolic::sign::any;
  return symbolic::finish(std::move(node));
}

Expr Expr::pi() {
  Node node;
  node.kind = Kind::constant;
  node.name = "pi";
  node.signs = symbolic::sign::positive;
  return symbolic::finish(std::move(node));
}

const Rational& Expr::number() const {
  return node_->number;
}
Expr::Kind Expr::kind() const {
  return node_->kind;
}
const std::string& Expr::name() const {
  return node_->name;
}
Assumption Expr::assumption() const {
  return node_->assumption;
}
const std::vector<Expr>& Expr::operands() const {
  return node_->operands;
}
bool Expr::is_zero() const {
  return is_number() && node_->number.is_zero();
}
bool Expr::is_one() const {
  return is_number() && node_->number.is_one();
}
bool Expr::is_positive() const {
  return node_->signs == symbolic::sign::positive;
}

bool Expr::contains(std::string_view symbol_name) const {
  if (kind() == Kind::symbol) return name() == symbol_name;
  for (const Expr& child : operands()) {
    if (child.contains(symbol_name)) return true;
  }
  return false;
}

bool operator==(const Expr& a, const Expr& b) {
  return &a.node() == &b.node() || (a.node().hash == b.node().hash && symbolic::compare(a, b) == 0);
}

bool operator<(const Expr& a, const Expr& b) {
  return symbolic::compare(a, b) < 0;
}

}  // namespace scalecalc
