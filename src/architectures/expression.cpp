#include "architectures/expression.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "architectures/functions.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

constexpr std::array<std::string_view, 23> kSigns = {"**", "//", "==", "!=", "<=", ">=", "<", ">",
                                                     "+",  "-",  "*",  "/",  "%",  "(",  ")", "[",
                                                     "]",  ",",  "~",  ":",  ".",  "=",  "@"};
constexpr symbolic::Lexicon kLexicon{" \t\n", kSigns, true};

constexpr int kDeepestExpression = 64;

}  // namespace

/// Recursive descent, an operator a level.
class Parser {
 public:
  Parser(std::string_view text, std::string where)
      : text_(text), where_(std::move(where)), lexer_(text, kLexicon) {}

  Expression whole() {
    Expression all = choice();
    expect_end();
    return all;
  }

  EntryText entry() {
    EntryText entry{postfix(), {}, {}};
    if (take("~")) {
      do {
        entry.draws.push_back(postfix());
      } while (take(","));
    }
    if (take_name("if")) entry.condition = disjunction();
    expect_end();
    return entry;
  }

  LayerText layer_text() {
    LayerText layer{postfix(), {}, {}, {}, {}};
    if (take("@")) {
      const symbolic::Token name = lexer_.take();
      if (name.kind != symbolic::Token::Kind::text) fail("'@' asks for a 'name'");
      layer.name = name.text;
    }
    if (take_name("for")) {
      const symbolic::Token variable = lexer_.take();
      if (variable.kind != symbolic::Token::Kind::name || !take_name("in"))
        fail("'for' asks for NAME in VALUES");
      layer.variable = variable.text;
      layer.values = disjunction();
    }
    if (take_name("if")) layer.condition = disjunction();
    expect_end();
    return layer;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) {
    throw Error(ErrorKind::input, problem, where_, "in: " + std::string(text_));
  }
  void expect_end() {
    if (lexer_.next().kind != symbolic::Token::Kind::end)
      fail("'" + std::string(lexer_.next().text) + "' is not expected");
  }
  bool take(std::string_view sign) {
    if (!lexer_.next().is(sign)) return false;
    lexer_.take();
    return true;
  }
  bool take_name(std::string_view name) {
    if (!lexer_.next().is_name(name)) return false;
    lexer_.take();
    return true;
  }
  void expect(std::string_view sign) {
    if (!take(sign)) fail("'" + std::string(sign) + "' is missing");
  }

  Expression node(Expression::Kind kind, std::string name, std::vector<Expression> operands,
                  std::size_t begin) {
    Expression made;
    made.kind_ = kind;
    made.name_ = std::move(name);
    made.operands_ = std::move(operands);
    made.text_ = text_.substr(begin, lexer_.at() - begin);
    made.text_.erase(made.text_.find_last_not_of(" \t\n") + 1);
    return made;
  }
  Expression constant(Value value, std::size_t begin) {
    Expression made = node(Expression::Kind::constant, {}, {}, begin);
    made.constant_ = std::make_shared<const Value>(std::move(value));
    return made;
  }

  Expression choice() {
    if (++nested_ > kDeepestExpression) fail("nested too deep");
    const std::size_t begin = start();
    Expression first = disjunction();
    if (take_name("if")) {
      Expression condition = disjunction();
      if (!take_name("else")) fail("'else' is missing");
      Expression other = choice();
      first = node(Expression::Kind::choice, "if",
                   {std::move(condition), std::move(first), std::move(other)}, begin);
    }
    --nested_;
    return first;
  }
  Expression disjunction() {
    return words("or", [&] { return words("and", [&] { return negation(); }); });
  }
  template <class Inner>
  Expression words(const std::string& word, Inner inner) {
    const std::size_t begin = start();
    Expression left = inner();
    while (take_name(word)) {
      Expression right = inner();
      left = node(Expression::Kind::call, word, {std::move(left), std::move(right)}, begin);
    }
    return left;
  }
  Expression negation() {
    const std::size_t begin = start();
    if (!take_name("not")) return comparison();
    Expression inner = negation();
    return node(Expression::Kind::call, "not", {std::move(inner)}, begin);
  }
  Expression comparison() {
    const std::size_t begin = start();
    Expression left = sum();
    for (const char* sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(sign)) continue;
      Expression right = sum();
      return node(Expression::Kind::call, sign, {std::move(left), std::move(right)}, begin);
    }
    if (take_name("in")) {
      Expression right = sum();
      return node(Expression::Kind::call, "in", {std::move(left), std::move(right)}, begin);
    }
    return left;
  }
  template <class Inner>
  Expression signs(std::initializer_list<const char*> known, Inner inner) {
    const std::size_t begin = start();
    Expression left = inner();
    for (;;) {
      const char* found = nullptr;
      for (const char* sign : known)
        if (found == nullptr && take(sign)) found = sign;
      if (found == nullptr) return left;
      Expression right = inner();
      left = node(Expression::Kind::call, found, {std::move(left), std::move(right)}, begin);
    }
  }
  Expression sum() {
    return signs({"+", "-"}, [&] { return signs({"//", "*", "/", "%"}, [&] { return sign(); }); });
  }
  Expression sign() {
    const std::size_t begin = start();
    if (take("-")) {
      Expression inner = sign();
      return node(Expression::Kind::call, "negative", {std::move(inner)}, begin);
    }
    Expression base = postfix();
    if (!take("**")) return base;
    Expression exponent = sign();
    return node(Expression::Kind::call, "**", {std::move(base), std::move(exponent)}, begin);
  }
  Expression postfix() {
    const std::size_t begin = start();
    Expression inner = atom();
    for (;;) {
      if (take("[")) {
        Expression index = choice();
        expect("]");
        inner = node(Expression::Kind::call, "[]", {std::move(inner), std::move(index)}, begin);
      } else if (lexer_.next().is("(") && inner.kind_ == Expression::Kind::name) {
        lexer_.take();
        std::vector<Expression> arguments = list(")");
        inner = node(Expression::Kind::call, inner.name_, std::move(arguments), begin);
      } else {
        return inner;
      }
    }
  }
  std::vector<Expression> list(std::string_view end) {
    std::vector<Expression> items;
    if (take(end)) return items;
    do {
      const std::size_t begin = start();
      items.push_back(choice());
      if (!take("=")) continue;
      if (items.back().kind_ != Expression::Kind::name) fail("'=' asks for a key before it");
      Expression value = choice();
      items.back() =
          node(Expression::Kind::call, "=", {std::move(items.back()), std::move(value)}, begin);
    } while (take(","));
    expect(end);
    return items;
  }
  Expression atom() {
    using Kind = symbolic::Token::Kind;
    const std::size_t begin = start();
    const symbolic::Token token = lexer_.take();
    if (token.kind == Kind::number) return constant(parse_number(token.text), begin);
    if (token.kind == Kind::text) return constant(std::string(token.text), begin);
    if (token.is_name("None")) return constant(nullptr, begin);
    if (token.is_name("True")) return constant(true, begin);
    if (token.is_name("False")) return constant(false, begin);
    if (token.kind == Kind::name)
      return node(Expression::Kind::name, std::string(token.text), {}, begin);
    if (token.is("(")) {
      Expression inner = choice();
      expect(")");
      return inner;
    }
    if (token.is("[")) {
      std::vector<Expression> items = list("]");
      return node(Expression::Kind::list, {}, std::move(items), begin);
    }
    fail(token.kind == Kind::end ? "something is missing at the end"
                                 : "'" + std::string(token.text) + "' is not expected");
  }
  static Value parse_number(std::string_view text) {
    const double number = std::stod(std::string(text));
    if (text.find_first_of(".eE") == std::string_view::npos)
      return static_cast<std::int64_t>(number);
    return number;
  }
  std::size_t start() {
    lexer_.next();
    return lexer_.at();
  }

  std::string_view text_;
  std::string where_;
  symbolic::Lexer lexer_;
  int nested_ = 0;
};

Expression Expression::parse(std::string_view text, const std::string& where) {
  return Parser(text, where).whole();
}

EntryText parse_entry(std::string_view text, const std::string& where) {
  return Parser(text, where).entry();
}

LayerText parse_layer_text(std::string_view text, const std::string& where) {
  return Parser(text, where).layer_text();
}

Expression Expression::constant(Value value) {
  Expression made;
  made.constant_ = std::make_shared<const Value>(std::move(value));
  made.write_text();
  return made;
}

Expression Expression::call(std::string name, std::vector<Expression> operands) {
  Expression made;
  made.kind_ = Kind::call;
  made.name_ = std::move(name);
  made.operands_ = std::move(operands);
  made.write_text();
  return made;
}

Expression Expression::choice(Expression condition, Expression first, Expression other) {
  Expression made = call("if", {std::move(condition), std::move(first), std::move(other)});
  made.kind_ = Kind::choice;
  return made;
}

Expression Expression::with(std::vector<Expression> operands) const {
  Expression made = *this;
  made.operands_ = std::move(operands);
  made.write_text();
  return made;
}

void Expression::write_text() {
  if (constant_) {
    text_ = constant_->dump();
    return;
  }
  text_ = name_ + "(";
  for (std::size_t i = 0; i < operands_.size(); ++i)
    text_ += (i == 0 ? "" : ", ") + operands_[i].text_;
  text_ += ")";
}

Value Expression::evaluate(const Lookup& names) const {
  switch (kind_) {
    case Kind::constant: return *constant_;
    case Kind::name: {
      const Value* value = names(name_);
      if (value == nullptr) throw Error(ErrorKind::input, name_ + " is not given", text_);
      return *value;
    }
    case Kind::list: {
      Value items = Value::array();
      for (const Expression& item : operands_) items.push_back(item.evaluate(names));
      return items;
    }
    case Kind::choice: return operands_[operands_[0].flag(names) ? 1 : 2].evaluate(names);
    case Kind::call: break;
  }
  if (name_ == "and" || name_ == "or") {
    Value left = operands_[0].evaluate(names);
    return is_true(left) == (name_ == "or") ? left : operands_[1].evaluate(names);
  }
  if (name_ == "given") {  // whether a key has a value that is not None
    const Expression& key = operands_.at(0);
    if (key.kind_ != Kind::name) return !key.evaluate(names).is_null();
    const Value* value = names(key.name_);
    return value != nullptr && !value->is_null();
  }
  std::vector<Value> values;
  for (const Expression& operand : operands_) values.push_back(operand.evaluate(names));
  return apply_function(*this, values);
}

double Expression::number(const Lookup& names) const {
  return to_number(evaluate(names), *this);
}

std::int64_t Expression::count(const Lookup& names) const {
  const double value = number(names);
  if (!(value >= 0) || value > 1e9 || value != std::floor(value))
    throw Error(ErrorKind::input, fmt::format("{} is {}", text_, value), "",
                "it must be a whole number from 0 to 1000000000");
  return static_cast<std::int64_t>(value);
}

bool Expression::flag(const Lookup& names) const {
  return is_true(evaluate(names));
}

bool is_true(const Value& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.empty();
}

}  // namespace scalecalc::architectures
