#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "claims/lowering.hpp"

/// Functions of the library that formulas may call.
namespace scalecalc::claims {

/// The arguments of one call, by name; they are read when asked for.
class Arguments {
 public:
  Arguments(Lowering& lowering, const Node& call, const std::vector<std::string>& names,
            const std::vector<std::string>& prefixes);

  Engine& engine() { return lowering_.engine(); }
  const Node& call() const { return call_; }
  const Place& place() const { return lowering_.place(); }
  bool has(const std::string& name) const { return find(name) != nullptr; }
  bool is_list(const std::string& name) const { return is(name, Node::Kind::list); }
  /// Quoted.
  bool is_text(const std::string& name) const { return is(name, Node::Kind::text); }
  /// Where it stands in the formula. Throws PlacedError when missing, as all below.
  int column(const std::string& name) const { return required(name).column; }
  /// A bare name or a quoted text.
  std::string text(const std::string& name);
  std::string text_or(const std::string& name, const std::string& otherwise);
  /// A quoted formula in these symbols, or a formula of numbers.
  Expr formula(const std::string& name, const std::vector<std::string>& symbols);
  Expr expr(const std::string& name);
  Expr expr_or(const std::string& name, const Expr& otherwise);
  /// A formula of the function's own: each symbol is what `known` says of it, and the claim's for
  /// the others (a value of `let` or `for`, a symbol that is tried at points).
  Expr in_scope(const Expr& formula, std::map<std::string, Expr> known = {});
  double number(const std::string& name);
  double number_or(const std::string& name, double otherwise);
  /// An exact number (of what has leaves: the binary fraction).
  Rational rational(const std::string& name);
  std::int64_t integer(const std::string& name);
  bool boolean(const std::string& name);
  std::vector<std::int64_t> integers(const std::string& name);
  /// Names given that begin with the prefix.
  std::vector<std::string> beginning_with(const std::string& prefix) const;
  /// Given by key, and not one of the names.
  std::vector<std::string> others(const std::vector<std::string>& names) const;
  [[noreturn]] void fail(const std::string& what, const std::string& hint) const;

 private:
  const Node* find(const std::string& name) const;
  bool is(const std::string& name, Node::Kind kind) const {
    const Node* node = find(name);
    return node != nullptr && node->kind == kind;
  }
  const Node& required(const std::string& name) const;

  Lowering& lowering_;
  const Node& call_;
  std::vector<std::string> names_;
};

struct LibraryFunction {
  std::string name;
  std::vector<std::string> parameters;  ///< plain arguments come in this order
  std::vector<std::string> members;     ///< the first is what the call alone stands for
  /// Found by integrals, sampling or passes; else a formula.
  bool is_number = true;
  bool is_sampled = false;  ///< Monte Carlo has its own answer
  bool any_key = false;     ///< other keys are the function's own matter
  Expr (*value)(Arguments& arguments, const std::string& member);
};

/// Null for another name.
const LibraryFunction* library_function(const std::string& name);
const std::vector<std::string>& library_names();
Expr call_library(const LibraryFunction& function, Lowering& lowering, const Node& call,
                  const std::string& member);

/// What each file of functions has.
std::vector<LibraryFunction> scaling_functions();
std::vector<LibraryFunction> gain_functions();
std::vector<LibraryFunction> softmax_functions();
std::vector<LibraryFunction> network_functions();
std::vector<LibraryFunction> transfer_functions();

}  // namespace scalecalc::claims
