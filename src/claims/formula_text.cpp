#include "claims/formula_text.hpp"

#include <algorithm>
#include <optional>

namespace scalecalc::claims {
namespace {

using Kind = Node::Kind;

/// How tightly an operator binds; an operand that binds less than it must stands in brackets.
enum Binding { sums = 1, products, signs, powers, atoms };

Binding binding(Kind kind) {
  switch (kind) {
    case Kind::sum:
    case Kind::difference: return sums;
    case Kind::product:
    case Kind::quotient: return products;
    case Kind::negative: return signs;
    case Kind::power: return powers;
    default: return atoms;
  }
}

std::string operand(const Node& node, Binding least) {
  const std::string text = formula_text(node);
  return binding(node.kind) < least ? "(" + text + ")" : text;
}

std::string binary(const Node& node, const char* sign, Binding left, Binding right) {
  return operand(node.children[0], left) + sign + operand(node.children[1], right);
}

std::string quoted(const std::string& text) {
  const char quote = text.find('"') == std::string::npos ? '"' : '\'';
  return quote + text + quote;
}

std::string joined(const std::vector<Node>& nodes) {
  std::string text;
  for (const Node& node : nodes) text += (text.empty() ? "" : ", ") + formula_text(node);
  return text;
}

std::string call_text(const Node& node) {
  std::string arguments = joined(node.children);
  for (const auto& [key, value] : node.named)
    arguments += (arguments.empty() ? "" : ", ") + key + "=" + formula_text(value);
  return node.text + std::string(static_cast<std::size_t>(node.primes), '\'') + "(" + arguments +
         ")";
}

/// The digits behind the point of a decimal that ends: the least k at which 10^k value is whole.
std::optional<int> decimals(const Rational& value) {
  constexpr int most = 20;
  Rational scaled = value;
  for (int digits = 0; digits <= most; ++digits) {
    if (scaled.is_integer()) return digits;
    scaled = scaled * Rational(10);
  }
  return std::nullopt;
}

/// The value with that many digits behind the point, which hold all of it.
std::string decimal_text(const Rational& value, int digits) {
  Rational scaled = value.sign() < 0 ? -value : value;
  for (int k = 0; k < digits; ++k) scaled = scaled * Rational(10);
  std::string text = scaled.to_string();
  const auto width = static_cast<std::size_t>(digits);
  if (text.size() <= width) text.insert(0, width + 1 - text.size(), '0');
  if (digits > 0) text.insert(text.size() - width, ".");
  return (value.sign() < 0 ? "-" : "") + text;
}

/// As many digits as say how close the other side must be.
std::string written_text(const Written& written) {
  const std::optional<int> digits = decimals(written.value), unit = decimals(written.unit);
  if (!digits || !unit) return number_text(written.value);
  return decimal_text(written.value, std::max(*digits, *unit)) + (written.truncated ? "..." : "");
}

}  // namespace

std::string number_text(const Rational& value) {
  const std::optional<int> digits = decimals(value);
  return digits ? decimal_text(value, *digits) : value.to_string();
}

Node number_node(const Rational& value, int column) {
  Node node;
  node.column = column;
  if (value.sign() < 0) {
    node.kind = Kind::negative;
    node.children = {number_node(-value, column)};
  } else if (!decimals(value)) {
    node.kind = Kind::quotient;
    node.children = {number_node(value.numerator(), column),
                     number_node(value.denominator(), column)};
  } else {
    node.value = value;
    node.text = number_text(value);
  }
  return node;
}

std::string formula_text(const Node& node) {
  switch (node.kind) {
    case Kind::number: return node.text.empty() ? number_text(node.value) : node.text;
    case Kind::name: return node.text;
    case Kind::text: return quoted(node.text);
    case Kind::list: return "[" + joined(node.children) + "]";
    case Kind::index: return node.text + "[" + formula_text(node.children[0]) + "]";
    case Kind::negative: return "-" + operand(node.children[0], powers);
    case Kind::sum: return binary(node, " + ", sums, products);
    case Kind::difference: return binary(node, " - ", sums, products);
    case Kind::product: return binary(node, "*", products, signs);
    case Kind::quotient: return binary(node, "/", products, signs);
    case Kind::power: return binary(node, "^", atoms, atoms);
    case Kind::call: return call_text(node);
    case Kind::member: return formula_text(node.children[0]) + "." + node.text;
    case Kind::expectation: break;
  }
  return "E[" + formula_text(node.children[0]) + "]";
}

std::string assertion_text(const Assertion& assertion) {
  std::string text = formula_text(assertion.left) + " " + to_string(assertion.relation) + " ";
  if (assertion.written)
    text += written_text(*assertion.written);
  else
    text += formula_text(assertion.right);
  if (!assertion.within) return text;
  const Tolerance& within = *assertion.within;
  return text + " within " +
         (within.relative ? number_text(within.amount * Rational(100)) + "%"
                          : number_text(within.amount));
}

}  // namespace scalecalc::claims
