#include <algorithm>

#include "base/text.hpp"
#include "symbolic/canonical.hpp"
#include "symbolic/functions.hpp"
#include "symbolic/tokens.hpp"

namespace scalecalc {
namespace symbolic {
namespace {

constexpr std::size_t longest_text = 16384;

/// sum    := product (('+' | '-') product)*
/// product := signed (('*' | '/') signed)*
/// signed := ('+' | '-')* power
/// power  := atom ('^' ('+' | '-')* power)?
/// atom   := number | name | name '(' sum (',' sum)* ')' | '(' sum ')'
class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options)
      : tokens_(formula_tokens(text)), options_(options) {}

  Expr run() {
    if (tokens_.next().kind == Token::Kind::end) {
      throw Failure{1, "empty formula", "write a formula such as (2*N)^(1/4)"};
    }
    Expr result = sum();
    if (tokens_.next().kind != Token::Kind::end) reject(tokens_.next());
    return result;
  }

 private:
  Nesting nested(int column) {
    return Nesting(depth_, ExprLimits::depth, [column] {
      throw Failure{column, "nesting deeper than " + std::to_string(ExprLimits::depth),
                    "write the formula with fewer brackets"};
    });
  }

  /// Runs a simplification; what it refuses is a failure at this column.
  template <class Build>
  static Expr at(int column, Build build) {
    try {
      return build();
    } catch (const Error& error) {
      throw Failure{column, error.message(), error.hint()};
    }
  }

  Expr sum() {
    const int column = tokens_.next().column;
    std::vector<Expr> terms{product()};
    while (tokens_.next().is("+") || tokens_.next().is("-")) {
      const bool minus = tokens_.take().is("-");
      Expr term = product();
      terms.push_back(minus ? -term : term);
    }
    return terms.size() == 1 ? terms[0] : at(column, [&] { return add(std::move(terms)); });
  }

  Expr product() {
    const int column = tokens_.next().column;
    std::vector<Expr> factors{signed_power()};
    while (tokens_.next().is("*") || tokens_.next().is("/")) {
      const Token sign = tokens_.take();
      if (sign.is("*") && tokens_.next().is("*")) {
        throw Failure{sign.column, "unexpected '**'", "write ^ for a power"};
      }
      const Expr factor = signed_power();
      factors.push_back(sign.is("*") ? factor
                                     : at(sign.column, [&] { return pow(factor, Expr(-1)); }));
    }
    return factors.size() == 1 ? factors[0]
                               : at(column, [&] { return multiply(std::move(factors)); });
  }

  bool take_signs() {
    bool minus = false;
    while (tokens_.next().is("+") || tokens_.next().is("-")) minus ^= tokens_.take().is("-");
    return minus;
  }

  Expr signed_power() {
    const bool minus = take_signs();
    const Expr value = power();
    return minus ? -value : value;
  }

  Expr power() {
    Expr base = atom();
    if (!tokens_.next().is("^")) return base;
    const Token sign = tokens_.take();
    const Nesting level = nested(sign.column);
    const Expr exponent = signed_power();
    return at(sign.column, [&] { return pow(base, exponent); });
  }

  Expr atom() {
    const Token token = tokens_.take();
    if (token.kind == Token::Kind::number) return number(token);
    if (token.kind == Token::Kind::name) return named(token);
    if (!token.is("(")) reject(token);
    const Nesting level = nested(token.column);
    Expr inside = sum();
    close(token);
    return after_atom(inside);
  }

  Expr number(const Token& token) {
    return after_atom(at(token.column, [&] { return Expr(Rational::parse(token.text)); }), token);
  }

  Expr named(const Token& token) {
    if (tokens_.next().is("(")) return call(token);
    const std::string name(token.text);
    if (name == "pi") return after_atom(Expr::pi(), token);
    const auto& known = options_.known_symbols;
    const bool listed = std::find(known.begin(), known.end(), name) != known.end();
    if (!listed && (find_function(name) || name == "sqrt")) {
      throw Failure{token.column, "the function '" + name + "' has no argument",
                    "write " + name + "(x)"};
    }
    if (!listed && !known.empty()) reject_name("symbol", token, known);
    const auto assumed = options_.assumptions.find(name);
    return after_atom(Expr::symbol(name, assumed == options_.assumptions.end() ? options_.otherwise
                                                                               : assumed->second),
                      token);
  }

  Expr call(const Token& name) {
    const Token bracket = tokens_.take();
    const Nesting level = nested(bracket.column);
    const auto own = options_.functions.find(std::string(name.text));
    const bool is_own = own != options_.functions.end();
    const bool known = find_function(name.text) || name.text == "sqrt" || is_own;
    const auto& symbols = options_.known_symbols;
    if (!known && (name.text == "pi" ||
                   std::find(symbols.begin(), symbols.end(), name.text) != symbols.end())) {
      throw Failure{bracket.column, "unexpected '('",
                    "write " + base::shortened(name.text) + "*(...)"};
    }
    if (!known) {
      std::vector<std::string> names = function_names();
      if (!options_.functions.empty()) std::erase_if(names, is_not_of_one_number);
      for (const auto& [own_name, expression] : options_.functions) names.push_back(own_name);
      reject_name("function", name, names);
    }
    std::vector<Expr> arguments;
    if (!tokens_.next().is(")")) {
      arguments.push_back(sum());
      while (tokens_.next().is(",")) {
        tokens_.take();
        arguments.push_back(sum());
      }
    }
    close(bracket);
    if (is_own) return after_atom(own_call(name, own->second, arguments));
    return after_atom(at(
        name.column, [&] { return Expr::function(std::string(name.text), std::move(arguments)); }));
  }

  Expr own_call(const Token& name, const Expr& function, const std::vector<Expr>& arguments) const {
    if (arguments.size() != 1) {
      throw Failure{
          name.column,
          base::shortened(name.text) + " takes 1 argument, not " + std::to_string(arguments.size()),
          "write " + base::shortened(name.text) + "(x)"};
    }
    return at(name.column, [&] { return substitute(function, {{"x", arguments[0]}}); });
  }

  void close(const Token& open) {
    if (tokens_.next().kind == Token::Kind::end) {
      throw Failure{open.column, "unclosed '('", "add the missing ')'"};
    }
    if (!tokens_.next().is(")")) reject(tokens_.next());
    tokens_.take();
  }

  /// Two values side by side are no product: 2N, 2(N + 1), (a)(b).
  Expr after_atom(const Expr& value, const Token& before = {}) const {
    const Token& next = tokens_.next();
    const bool another =
        next.kind == Token::Kind::number || next.kind == Token::Kind::name || next.is("(");
    if (!another) return value;
    const std::string left = before.text.empty() ? "(...)" : base::shortened(before.text, 20);
    const std::string right = next.is("(") ? "(...)" : base::shortened(next.text, 20);
    if (next.text[0] == '.') {
      throw Failure{next.column, "unexpected '.'", "a number has one decimal point"};
    }
    throw Failure{next.column, "unexpected '" + base::shortened(next.text, 40) + "'",
                  "write " + left + "*" + right + " for a product"};
  }

  [[noreturn]] static void reject(const Token& token) {
    if (token.kind == Token::Kind::end) {
      throw Failure{token.column, "the formula ends too early",
                    "a number, a name or a bracket is missing at the end"};
    }
    const std::string hint = token.is(")")   ? "remove it or add the missing '('"
                             : token.is(",") ? "commas stand between the arguments of a function"
                                             : "a number, a name or a bracket is missing before it";
    throw Failure{token.column, "unexpected '" + base::shortened(token.text, 40) + "'", hint};
  }

  /// What an expression with functions of its own, an activation, cannot be made of.
  static bool is_not_of_one_number(const std::string& name) {
    const Function* function = find_function(name);
    return name == "Phi2" || (function != nullptr && function->in_double == nullptr);
  }

  [[noreturn]] static void reject_name(const std::string& what, const Token& token,
                                       const std::vector<std::string>& known) {
    const Error error = unknown_name(what, token.text, known, {});
    throw Failure{token.column, error.message(), error.hint()};
  }

  Tokens tokens_;
  const ParseOptions& options_;
  int depth_ = 0;
};

Expr parse_or_fail(std::string_view text, const ParseOptions& options) {
  if (text.size() > longest_text) {
    throw Failure{1, "a formula of " + std::to_string(text.size()) + " bytes is too long",
                  "formulas are limited to " + std::to_string(longest_text) + " bytes"};
  }
  try {
    return Parser(text, options).run();
  } catch (const Error& error) {
    throw Failure{1, error.message(), error.hint()};
  }
}

/// 80 characters of the text with the column among them, and the column in the cut.
std::pair<std::string, int> window(std::string_view text, int column) {
  constexpr int width = 80;
  const int first = std::max(1, std::min(column - width / 2, column));
  const int start = column <= width ? 1 : first;
  std::string cut;
  int now = 1;
  for (std::size_t at = 0; at < text.size() && now < start + width; ++now) {
    const base::Character next = base::character_at(text, at);
    if (now >= start) cut += base::printable(text.substr(at, next.bytes));
    at += next.bytes;
  }
  return {cut, column - start + 1};
}

}  // namespace
}  // namespace symbolic

Expr parse(std::string_view text, const ParseOptions& options) {
  try {
    return symbolic::parse_or_fail(text, options);
  } catch (const symbolic::Failure& failure) {
    throw Error(ErrorKind::input, failure.reason + " at column " + std::to_string(failure.column),
                options.where, failure.hint);
  }
}

std::optional<ParseFailure> parse_failure(std::string_view text, const ParseOptions& options) {
  try {
    symbolic::parse_or_fail(text, options);
    return std::nullopt;
  } catch (const symbolic::Failure& failure) {
    ParseFailure result;
    std::tie(result.text, result.column) = symbolic::window(text, failure.column);
    result.reason = failure.reason;
    if (!failure.hint.empty()) result.reason += "; " + failure.hint;
    return result;
  }
}

std::string ParseFailure::caret() const {
  return text + "\n" + std::string(static_cast<std::size_t>(std::max(column - 1, 0)), ' ') + "^\n";
}

}  // namespace scalecalc
