#include "export/conventions/syntax.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace scalecalc::conventions {
namespace {

constexpr std::size_t most_bytes = 4096;
constexpr int most_nested = 64;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  NodePtr line() {
    NodePtr node = sum();
    if (node->kind == Node::Kind::name && peek() == '=') {
      ++at_;
      node = sum();
    }
    if (peek() != '\0') fail("expected the end of the line");
    return node;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const std::string found =
        at_ < text_.size() ? "'" + base::shortened(text_.substr(at_), 12) + "'" : "the end";
    throw Error(ErrorKind::input, fmt::format("{} at column {}, found {}", what, at_ + 1, found),
                "LINE, got '" + base::shortened(text_) + "'",
                "give one call, for example \"torch.nn.init.kaiming_normal_(w)\"");
  }

  /// The next character that is not a space, '\0' at the end or before a comment.
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ >= text_.size() || text_[at_] == '#') return '\0';
    if (text_[at_] == '\0') fail("a line has no zero bytes: expected something else");
    return text_[at_];
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("expected '{}'", c));
  }

  NodePtr finish(Node node, std::size_t start) const {
    node.source = std::string(text_.substr(start, at_ - start));
    return std::make_shared<const Node>(std::move(node));
  }
  NodePtr operation(const char* symbol, std::vector<NodePtr> items, std::size_t start) const {
    Node node;
    node.kind = Node::Kind::operation;
    node.text = symbol;
    node.items = std::move(items);
    return finish(std::move(node), start);
  }

  struct Nested {
    explicit Nested(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > most_nested) {
        parser_.fail(fmt::format("expressions nest at most {} deep: too deep", most_nested));
      }
    }
    ~Nested() { --parser_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    Parser& parser_;
  };

  NodePtr sum() {
    const Nested nested(*this);
    peek();
    const std::size_t start = at_;
    NodePtr left = product();
    while (peek() == '+' || peek() == '-') {
      const char symbol[] = {text_[at_++], '\0'};
      NodePtr right = product();
      left = operation(symbol, {left, right}, start);
    }
    return left;
  }

  NodePtr product() {
    peek();
    const std::size_t start = at_;
    NodePtr left = unary();
    while (peek() == '*' || peek() == '/') {
      const char symbol[] = {text_[at_++], '\0'};
      if (at_ < text_.size() && text_[at_] == symbol[0]) fail("expected an operand");
      NodePtr right = unary();
      left = operation(symbol, {left, right}, start);
    }
    return left;
  }

  NodePtr unary() {
    const Nested nested(*this);
    peek();
    const std::size_t start = at_;
    if (take('+')) return unary();
    if (take('-')) return operation("neg", {unary()}, start);
    return power();
  }

  NodePtr power() {
    peek();
    const std::size_t start = at_;
    NodePtr base = primary();
    peek();
    if (text_.substr(at_, 2) != "**") return base;
    at_ += 2;
    return operation("**", {base, unary()}, start);
  }

  NodePtr primary() {
    const char c = peek();
    const std::size_t start = at_;
    NodePtr node = is_digit(c) || c == '.' ? number()
                   : c == '"' || c == '\'' ? text(c)
                   : is_letter(c)          ? name()
                   : c == '('              ? brackets(')')
                   : c == '['              ? brackets(']')
                                           : nullptr;
    if (!node) fail("expected a call, a name, a number or a string");
    while (peek() == '(') node = call(node, start);
    return node;
  }

  NodePtr number() {
    const std::size_t start = at_;
    std::string digits;
    bool point = false, exponent = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_digit(c)) {
        digits += c;
      } else if (c == '.' && !point && !exponent) {
        point = true;
        if (digits.empty()) digits += '0';
        digits += '.';
        if (at_ + 1 >= text_.size() || !is_digit(text_[at_ + 1])) digits += '0';
      } else if ((c == 'e' || c == 'E') && !exponent && !digits.empty()) {
        exponent = true;
        digits += 'e';
        if (at_ + 1 < text_.size() && (text_[at_ + 1] == '-' || text_[at_ + 1] == '+')) {
          if (text_[++at_] == '-') digits += '-';
        }
      } else if (c != '_') {
        break;
      }
      ++at_;
    }
    Node node;
    node.kind = Node::Kind::number;
    try {
      node.number = Expr(Rational::parse(digits));
    } catch (const Error&) {
      at_ = start;
      fail("expected a number");
    }
    return finish(std::move(node), start);
  }

  NodePtr text(char quote) {
    const std::size_t start = at_++;
    Node node;
    node.kind = Node::Kind::text;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\') fail("expected a plain string, without escapes");
      node.text += text_[at_++];
    }
    if (at_ >= text_.size()) fail("expected the string to be closed");
    ++at_;
    return finish(std::move(node), start);
  }

  void subscript() {
    int open = 0;
    do {
      if (at_ >= text_.size()) fail("expected ']'");
      open += text_[at_] == '[' ? 1 : text_[at_] == ']' ? -1 : 0;
      ++at_;
    } while (open > 0);
  }

  NodePtr name() {
    const std::size_t start = at_;
    while (true) {
      if (at_ >= text_.size() || !is_letter(text_[at_])) fail("expected a name");
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
      while (at_ < text_.size() && text_[at_] == '[') subscript();
      if (at_ >= text_.size() || text_[at_] != '.') break;
      ++at_;
    }
    Node node;
    node.text = std::string(text_.substr(start, at_ - start));
    const bool word = node.text == "None" || node.text == "True" || node.text == "False";
    node.kind = word ? Node::Kind::word : Node::Kind::name;
    return finish(std::move(node), start);
  }

  NodePtr brackets(char close) {
    const Nested nested(*this);
    const std::size_t start = at_++;
    Node node;
    node.kind = Node::Kind::tuple;
    bool comma = close == ']';
    while (!take(close)) {
      node.items.push_back(sum());
      if (take(',')) {
        comma = true;
      } else if (peek() != close) {
        fail(fmt::format("expected ',' or '{}'", close));
      }
    }
    if (!comma && node.items.size() == 1) return node.items.front();
    return finish(std::move(node), start);
  }

  NodePtr call(const NodePtr& callee, std::size_t start) {
    const Nested nested(*this);
    if (callee->kind != Node::Kind::name && callee->kind != Node::Kind::call) {
      fail("expected an operator");
    }
    expect('(');
    Node node;
    node.kind = Node::Kind::call;
    node.items = {callee};
    while (!take(')')) {
      Argument argument;
      argument.value = sum();
      if (argument.value->kind == Node::Kind::name && peek() == '=') {
        ++at_;
        argument.name = argument.value->text;
        argument.value = sum();
      }
      node.arguments.push_back(std::move(argument));
      if (!take(',') && peek() != ')') fail("expected ',' or ')'");
    }
    return finish(std::move(node), start);
  }

  std::string_view text_;
  std::size_t at_ = 0;
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
