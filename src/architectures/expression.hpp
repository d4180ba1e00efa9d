#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolic/lexer.hpp"

/// The expressions of the data files, a small part of Python's: numbers, 'texts', lists, None, True
/// and False; + - * / // % **, comparisons, in, and, or, not; a if c else b; x[i]; functions.
namespace scalecalc::architectures {

using Value = nlohmann::json;

/// What a name stands for. Null: nothing of that name.
using Lookup = std::function<const Value*(const std::string& name)>;

class Expression {
 public:
  enum class Kind { constant, name, list, call, choice };

  /// All of the text. Throws Error(input) at `where`.
  static Expression parse(std::string_view text, const std::string& where);

  static Expression constant(Value value);
  static Expression call(std::string name, std::vector<Expression> operands);
  static Expression choice(Expression condition, Expression first, Expression other);
  /// The same of other operands.
  Expression with(std::vector<Expression> operands) const;

  /// Throws Error(input) naming the key whose value is of the wrong type.
  Value evaluate(const Lookup& names) const;
  double number(const Lookup& names) const;
  /// A whole number of 0..10^9.
  std::int64_t count(const Lookup& names) const;
  bool flag(const Lookup& names) const;

  const std::string& text() const { return text_; }
  Kind kind() const { return kind_; }
  /// Of a name, a function or an operator.
  const std::string& name() const { return name_; }
  const std::vector<Expression>& operands() const { return operands_; }

 private:
  friend class Parser;
  void write_text();

  std::string text_;
  Kind kind_ = Kind::constant;
  std::string name_;
  std::shared_ptr<const Value> constant_;
  std::vector<Expression> operands_;
};

/// What a text of a module's entry says: CALL [~ DRAW [, DRAW]] [if CONDITION].
struct EntryText {
  Expression call;
  std::vector<Expression> draws;
  std::optional<Expression> condition;
};
EntryText parse_entry(std::string_view text, const std::string& where);

/// What a text of a list of layers says: CALL [@ 'NAME'] [for VARIABLE in VALUES] [if CONDITION];
/// arguments of the call may be KEY = EXPRESSION, which is a call of "=".
struct LayerText {
  Expression call;
  std::string name, variable;
  std::optional<Expression> values, condition;
};
LayerText parse_layer_text(std::string_view text, const std::string& where);

/// As Python takes it: None, False, 0, '' and [] are false.
bool is_true(const Value& value);

}  // namespace scalecalc::architectures
