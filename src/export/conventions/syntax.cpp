#include "export/conventions/syntax.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "symbolic/lexer.hpp"

namespace scalecalc::conventions {
namespace {

constexpr std::size_t most_bytes = 4096;
constexpr int most_nested = 64;

constexpr std::array<std::string_view, 11> signs = {"**", "+", "-", "*", "/", "(",
                                                    ")",  "[", "]", ",", "="};
constexpr symbolic::Lexicon python{
    .blanks = " \t", .signs = signs, .quotes = true, .underscores = true, .comment = '#'};

using symbolic::Token;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text, python) {}

  NodePtr line() {
    NodePtr node = sum();
    if (node->kind == Node::Kind::name && take("=")) node = sum();
    if (peek().kind != Token::Kind::end) fail("expected the end of the line");
    return node;
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::size_t at) const {
    const std::string found =
        at < text_.size() ? "'" + base::shortened(text_.substr(at), 12) + "'" : "the end";
    throw Error(ErrorKind::input, fmt::format("{} at column {}, found {}", what, at + 1, found),
                "LINE, got '" + base::shortened(text_) + "'",
                "give one call, for example \"torch.nn.init.kaiming_normal_(w)\"");
  }
  [[noreturn]] void fail(const std::string& what) const { fail(what, lexer_.at()); }

  const Token& peek() {
    const Token& next = lexer_.next();
    if (next.kind == Token::Kind::unknown && next.text[0] == '\0') {
      fail("a line has no zero bytes: expected something else");
    }
    return next;
  }
  bool take(std::string_view sign) {
    if (!peek().is(sign)) return false;
    lexer_.take();
    return true;
  }
  void expect(std::string_view sign) {
    if (!take(sign)) fail(fmt::format("expected '{}'", sign));
  }

  NodePtr finish(Node node, std::size_t start) const {
    node.source = std::string(text_.substr(start, lexer_.at() - start));
    return std::make_shared<const Node>(std::move(node));
  }
  NodePtr operation(std::string_view symbol, std::vector<NodePtr> items, std::size_t start) const {
    Node node;
    node.kind = Node::Kind::operation;
    node.text = symbol;
    node.items = std::move(items);
    return finish(std::move(node), start);
  }

  symbolic::Nesting nested() {
    return symbolic::Nesting(depth_, most_nested, [this] {
      fail(fmt::format("expressions nest at most {} deep: too deep", most_nested));
    });
  }

  NodePtr sum() {
    const symbolic::Nesting level = nested();
    const std::size_t start = peek().begin;
    NodePtr left = product();
    while (peek().is("+") || peek().is("-")) {
      const Token symbol = lexer_.take();
      NodePtr right = product();
      left = operation(symbol.text, {left, right}, start);
    }
    return left;
  }

  NodePtr product() {
    const std::size_t start = peek().begin;
    NodePtr left = unary();
    while (peek().is("*") || peek().is("/")) {
      const Token symbol = lexer_.take();
      if (peek().adjacent && peek().is(symbol.text)) fail("expected an operand");
      NodePtr right = unary();
      left = operation(symbol.text, {left, right}, start);
    }
    return left;
  }

  NodePtr unary() {
    const symbolic::Nesting level = nested();
    const std::size_t start = peek().begin;
    if (take("+")) return unary();
    if (take("-")) return operation("neg", {unary()}, start);
    return power();
  }

  NodePtr power() {
    const std::size_t start = peek().begin;
    NodePtr base = primary();
    if (!take("**")) return base;
    return operation("**", {base, unary()}, start);
  }

  NodePtr primary() {
    const Token first = peek();
    NodePtr node = first.kind == Token::Kind::number                    ? number()
                   : first.kind == Token::Kind::name                    ? name()
                   : first.kind == Token::Kind::text || is_quote(first) ? text()
                   : first.is("(")                                      ? brackets(")")
                   : first.is("[")                                      ? brackets("]")
                                                                        : nullptr;
    if (!node) fail("expected a call, a name, a number or a string");
    while (peek().is("(")) node = call(node, first.begin);
    return node;
  }

  /// One that is never closed.
  static bool is_quote(const Token& token) {
    return token.kind == Token::Kind::unknown && (token.text == "'" || token.text == "\"");
  }

  NodePtr number() {
    const Token token = lexer_.take();
    const Token& next = lexer_.next();
    const bool empty_exponent = next.adjacent && next.kind == Token::Kind::name &&
                                (next.text[0] == 'e' || next.text[0] == 'E');
    if (empty_exponent) fail("expected a number", token.begin);
    std::string digits(token.text);
    std::erase(digits, '_');
    Node node;
    node.kind = Node::Kind::number;
    try {
      node.number = Expr(Rational::parse(digits));
    } catch (const Error&) {
      fail("expected a number", token.begin);
    }
    node.source = std::string(token.text);
    return std::make_shared<const Node>(std::move(node));
  }

  NodePtr text() {
    const Token token = lexer_.take();
    const std::size_t escape = text_.find('\\', token.begin);
    const std::size_t inside = token.begin + 1;
    const bool closed = token.kind == Token::Kind::text;
    if (escape < (closed ? inside + token.text.size() : text_.size())) {
      fail("expected a plain string, without escapes", escape);
    }
    if (!closed) fail("expected the string to be closed", text_.size());
    Node node;
    node.kind = Node::Kind::text;
    node.text = std::string(token.text);
    return finish(std::move(node), token.begin);
  }

  /// The byte after the bracket that closes the one at `at`, whatever stands between them.
  std::size_t subscript(std::size_t at) const {
    int open = 0;
    do {
      if (at >= text_.size()) fail("expected ']'", at);
      open += text_[at] == '[' ? 1 : text_[at] == ']' ? -1 : 0;
      ++at;
    } while (open > 0);
    return at;
  }

  char character(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

  /// a.b[0].c, without blanks but in the brackets.
  NodePtr name() {
    const std::size_t start = lexer_.at();
    for (std::size_t at = start;; ++at) {
      if (!base::is_letter(character(at))) fail("expected a name", at);
      while (base::is_letter(character(at)) || base::is_digit(character(at))) ++at;
      while (character(at) == '[') at = subscript(at);
      lexer_.skip_to(at);
      if (character(at) != '.') break;
    }
    Node node;
    node.text = std::string(text_.substr(start, lexer_.at() - start));
    const bool word = node.text == "None" || node.text == "True" || node.text == "False";
    node.kind = word ? Node::Kind::word : Node::Kind::name;
    return finish(std::move(node), start);
  }

  NodePtr brackets(std::string_view close) {
    const symbolic::Nesting level = nested();
    const std::size_t start = lexer_.take().begin;
    Node node;
    node.kind = Node::Kind::tuple;
    bool comma = close == "]";
    while (!take(close)) {
      node.items.push_back(sum());
      if (take(",")) {
        comma = true;
      } else if (!peek().is(close)) {
        fail(fmt::format("expected ',' or '{}'", close));
      }
    }
    if (!comma && node.items.size() == 1) return node.items.front();
    return finish(std::move(node), start);
  }

  NodePtr call(const NodePtr& callee, std::size_t start) {
    const symbolic::Nesting level = nested();
    if (callee->kind != Node::Kind::name && callee->kind != Node::Kind::call) {
      fail("expected an operator");
    }
    expect("(");
    Node node;
    node.kind = Node::Kind::call;
    node.items = {callee};
    while (!take(")")) {
      Argument argument;
      argument.value = sum();
      if (argument.value->kind == Node::Kind::name && take("=")) {
        argument.name = argument.value->text;
        argument.value = sum();
      }
      node.arguments.push_back(std::move(argument));
      if (!take(",") && !peek().is(")")) fail("expected ',' or ')'");
    }
    return finish(std::move(node), start);
  }

  std::string_view text_;
  symbolic::Lexer lexer_;
  int depth_ = 0;
};

}  // namespace

NodePtr parse_line(std::string_view line) {
  if (line.size() > most_bytes) {
    throw Error(ErrorKind::input, fmt::format("a line has at most {} bytes", most_bytes),
                fmt::format("LINE, got {}", line.size()), "give one call");
  }
  return Parser(line).line();
}

std::string shown(const Node& node) {
  return "'" + base::shortened(node.source, 40) + "'";
}

}  // namespace scalecalc::conventions
