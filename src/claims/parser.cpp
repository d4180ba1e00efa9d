#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "claims/language.hpp"
#include "claims/tokens.hpp"

namespace scalecalc::claims {
namespace {

using symbolic::Nesting;
using symbolic::Token;
using symbolic::Tokens;
using Kind = Node::Kind;

constexpr std::size_t longest_text = 16384;

/// What a number says of itself by how it is written.
Written written(std::string_view text, bool truncated) {
  Written result;
  result.value = Rational::parse(text);
  result.truncated = truncated;
  const std::size_t exponent = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, exponent);
  const std::size_t point = mantissa.find('.');
  const std::size_t decimals = point == std::string_view::npos ? 0 : mantissa.size() - point - 1;
  const std::string power =
      exponent == std::string_view::npos ? "0" : std::string(text.substr(exponent + 1));
  result.unit = Rational::parse("1e" + power) / Rational::parse("1e" + std::to_string(decimals));
  return result;
}

struct Comparison {
  std::string_view sign;
  Relation relation;
};
constexpr std::array<Comparison, 6> comparisons = {{{"==", Relation::equal},
                                                    {"~=", Relation::about},
                                                    {"<=", Relation::at_most},
                                                    {">=", Relation::at_least},
                                                    {"<", Relation::less},
                                                    {">", Relation::greater}}};

/// assertion := sum comparison sum ['within' number ['%']]
/// sum       := product (('+' | '-') product)*
/// product   := signed (('*' | '/') signed)*
/// signed    := ('+' | '-')* power
/// power     := atom ('^' signed)?
/// atom      := (number | text | list | name | name '[' sum ']' | name '(' arguments ')' |
///              'E' '[' sum ']' | '(' sum ')') ('.' name)*
class Parser {
 public:
  Parser(std::string_view text, const Place& place)
      : place_(place), tokens_(assertion_tokens(text, place)) {
    if (text.size() > longest_text)
      fail(1, "a formula of " + std::to_string(text.size()) + " bytes is too long",
           "formulas are limited to " + std::to_string(longest_text) + " bytes");
  }

  Assertion assertion() {
    Assertion result;
    result.left = sum();
    const Token sign = tokens_.take();
    const auto* found = std::find_if(comparisons.begin(), comparisons.end(),
                                     [&](const Comparison& c) { return sign.is(c.sign); });
    if (found == comparisons.end()) {
      fail(sign.column,
           sign.kind == Token::Kind::end ? "an assertion without a comparison"
                                         : "unexpected '" + shown(sign) + "'",
           "compare two sides with == ~= < <= > or >=");
    }
    result.relation = found->relation;
    if (result.relation == Relation::about) result.written = number_at_end();
    result.right = sum();
    if (tokens_.next().is_name("within")) {
      const Token within = tokens_.take();
      if (result.relation != Relation::equal)
        fail(within.column,
             "'within' beside another comparison than ==", "for example a == b within 5%");
      result.within = tolerance();
    }
    end();
    return result;
  }

  Node formula() {
    Node result = sum();
    end();
    return result;
  }

 private:
  [[noreturn]] void fail(int column, const std::string& what, const std::string& hint) const {
    refuse(place_, column, what, hint);
  }

  static std::string shown(const Token& token) { return base::shortened(token.text, 40); }

  void end() {
    if (tokens_.next().kind != Token::Kind::end) reject(tokens_.next());
  }

  [[noreturn]] void reject(const Token& token) const {
    if (token.kind == Token::Kind::end)
      fail(token.column, "the formula ends too early",
           "a number, a name or a bracket is missing at the end");
    std::string hint = "a number, a name or a bracket is missing before it";
    if (token.kind != Token::Kind::sign) hint = "write * for a product";
    if (token.is("=")) hint = "write == to compare; key=value stands in the brackets of a call";
    if (token.is(")") || token.is("]")) hint = "remove it or add the bracket that it closes";
    fail(token.column, "unexpected '" + shown(token) + "'", hint);
  }

  void expect(std::string_view sign, int opened) {
    if (tokens_.next().kind == Token::Kind::end)
      fail(opened, "a bracket that is never closed", "add the missing '" + std::string(sign) + "'");
    if (!tokens_.next().is(sign)) reject(tokens_.next());
    tokens_.take();
  }

  /// The right side of ~= tells by its digits how close the left must be.
  std::optional<Written> number_at_end() {
    Tokens ahead = tokens_;
    const bool minus = ahead.next().is("-");
    if (minus) ahead.take();
    const Token number = ahead.take();
    if (number.kind != Token::Kind::number || ahead.next().kind != Token::Kind::end)
      fail(tokens_.next().column, "~= compares with a number as it is written",
           "for example ~= 1.6732..., or == with 'within 5%'");
    Written result = written(number.text, number.dots);
    if (minus) result.value = -result.value;
    return result;
  }

  Tolerance tolerance() {
    const Token number = tokens_.take();
    if (number.kind != Token::Kind::number)
      fail(number.column, "'within' takes a number", "for example within 5% or within 0.1");
    Tolerance result{Rational::parse(number.text), false};
    if (tokens_.next().is("%")) {
      tokens_.take();
      result = {result.amount / Rational(100), true};
    }
    return result;
  }

  Nesting nested(int column) {
    return Nesting(depth_, ExprLimits::depth, [this, column] {
      fail(column, "nesting deeper than " + std::to_string(ExprLimits::depth),
           "write the formula with fewer brackets");
    });
  }

  static Node operation(Kind kind, int column, std::vector<Node> children) {
    Node node;
    node.kind = kind;
    node.column = column;
    node.children = std::move(children);
    return node;
  }

  Node sum() {
    Node left = product();
    while (tokens_.next().is("+") || tokens_.next().is("-")) {
      const Token sign = tokens_.take();
      const Kind kind = sign.is("+") ? Kind::sum : Kind::difference;
      left = operation(kind, sign.column, {std::move(left), product()});
    }
    return left;
  }

  Node product() {
    Node left = signed_power();
    while (tokens_.next().is("*") || tokens_.next().is("/")) {
      const Token sign = tokens_.take();
      const Kind kind = sign.is("*") ? Kind::product : Kind::quotient;
      left = operation(kind, sign.column, {std::move(left), signed_power()});
    }
    return left;
  }

  Node signed_power() {
    bool minus = false;
    const int column = tokens_.next().column;
    while (tokens_.next().is("+") || tokens_.next().is("-")) minus ^= tokens_.take().is("-");
    Node value = power();
    return minus ? operation(Kind::negative, column, {std::move(value)}) : value;
  }

  Node power() {
    Node base = atom();
    if (!tokens_.next().is("^")) return base;
    const Token sign = tokens_.take();
    const Nesting level = nested(sign.column);
    return operation(Kind::power, sign.column, {std::move(base), signed_power()});
  }

  Node atom() {
    const Token token = tokens_.take();
    Node node = operation(Kind::number, token.column, {});
    switch (token.kind) {
      case Token::Kind::number:
        node.value = placed_number(token);
        node.text = std::string(token.text);
        break;
      case Token::Kind::text:
        node.kind = Kind::text;
        node.text = std::string(token.text);
        break;
      case Token::Kind::name: node = named(token); break;
      case Token::Kind::sign:
        if (token.is("(")) {
          const Nesting level = nested(token.column);
          node = sum();
          expect(")", token.column);
        } else if (token.is("[")) {
          const Nesting level = nested(token.column);
          node.kind = Kind::list;
          node.children = items("]", token.column);
        } else {
          reject(token);
        }
        break;
      case Token::Kind::unknown:
      case Token::Kind::end: reject(token);
    }
    while (tokens_.next().is(".")) node = member(std::move(node));
    return node;
  }

  Rational placed_number(const Token& token) const {
    try {
      return Rational::parse(token.text);
    } catch (const Error& error) {
      fail(token.column, error.message(), error.hint());
    }
  }

  Node member(Node of) {
    const Token dot = tokens_.take();
    const Token name = tokens_.take();
    if (name.kind != Token::Kind::name || of.kind != Kind::call)
      fail(dot.column, "unexpected '.'", "write call(...).name");
    Node node = operation(Kind::member, name.column, {std::move(of)});
    node.text = std::string(name.text);
    return node;
  }

  std::vector<Node> items(std::string_view close, int opened) {
    std::vector<Node> result;
    if (!tokens_.next().is(close)) {
      result.push_back(sum());
      while (tokens_.next().is(",")) {
        tokens_.take();
        result.push_back(sum());
      }
    }
    expect(close, opened);
    return result;
  }

  Node named(const Token& token) {
    Node node = operation(Kind::name, token.column, {});
    node.text = std::string(token.text);
    node.primes = token.primes;
    if (tokens_.next().is("[")) {
      const Token open = tokens_.take();
      const Nesting level = nested(open.column);
      node.kind = token.text == "E" ? Kind::expectation : Kind::index;
      node.children.push_back(sum());
      expect("]", open.column);
    } else if (tokens_.next().is("(")) {
      const Token open = tokens_.take();
      const Nesting level = nested(open.column);
      node.kind = Kind::call;
      arguments(node);
      expect(")", open.column);
    }
    return node;
  }

  void arguments(Node& call) {
    if (tokens_.next().is(")")) return;
    for (;;) {
      Tokens ahead = tokens_;
      const Token name = ahead.take();
      if (name.kind == Token::Kind::name && ahead.next().is("=")) {
        tokens_.take();
        tokens_.take();
        for (const auto& [key, value] : call.named)
          if (key == name.text) fail(name.column, "'" + key + "' is given twice", "give it once");
        call.named.emplace_back(std::string(name.text), sum());
      } else {
        if (!call.named.empty())
          fail(tokens_.next().column, "a plain argument after key=value",
               "give plain arguments first");
        call.children.push_back(sum());
      }
      if (!tokens_.next().is(",")) return;
      tokens_.take();
    }
  }

  const Place& place_;
  Tokens tokens_;
  int depth_ = 0;
};

}  // namespace

Node::Node() = default;

std::string to_string(Relation relation) {
  for (const Comparison& comparison : comparisons)
    if (comparison.relation == relation) return std::string(comparison.sign);
  return {};
}

Assertion parse_assertion(const std::string& text, const Place& place) {
  Assertion result = Parser(text, place).assertion();
  result.text = text;
  return result;
}

Node parse_formula(const std::string& text, const Place& place) {
  return Parser(text, place).formula();
}

std::optional<Written> written_number(std::string_view text) {
  const bool minus = !text.empty() && text[0] == '-';
  if (minus) text.remove_prefix(1);
  const Place nowhere;
  try {
    Tokens tokens = assertion_tokens(text, nowhere);
    const Token token = tokens.take();
    if (token.kind != Token::Kind::number || tokens.next().kind != Token::Kind::end)
      return std::nullopt;
    Written result = written(token.text, token.dots);
    if (minus) result.value = -result.value;
    return result;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool mentions(const Node& node, std::string_view function) {
  if (node.kind == Kind::expectation && function == "E") return true;
  if (node.kind == Kind::call && node.text == function) return true;
  const auto inside = [&](const Node& child) { return mentions(child, function); };
  return std::any_of(node.children.begin(), node.children.end(), inside) ||
         std::any_of(node.named.begin(), node.named.end(),
                     [&](const auto& named) { return inside(named.second); });
}

}  // namespace scalecalc::claims
