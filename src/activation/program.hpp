#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "scalecalc/activation.hpp"

namespace scalecalc::activation_room {

/// One operation over a block of doubles. a and b are operands, k a constant.
enum class Op : std::uint8_t {
  input,
  constant,       // k
  add,            // a + b
  subtract,       // a - b
  multiply,       // a b
  divide,         // a / b
  scale,          // k a
  shift,          // a + k
  scale_add,      // k a + b
  square_root,    // a^(1/2)
  power,          // a^k
  power_of,       // a^b
  exp,            // e^a
  exp_of_square,  // e^(k a^2), k = -2^n
  exp_of_abs,     // e^-|a|
  expm1,          // e^a - 1
  log,            // log a
  log1p,          // log(1 + a)
  sigmoid,        // of a, given b = e^-|a|
  softplus,       // of a, given b = e^-|a|
  tanh,           // tanh a
  phi,            // of a, given b = e^(-a^2/2)
  erf,            // of a, given b = e^(-a^2)
  erfc,           // of a, given b = e^(-a^2)
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
};

struct Instruction {
  Op op = Op::input;
  int a = -1, b = -1;
  double k = 0;
};

/// Builds straight-line code; an operation that is there already is not repeated.
class Builder {
 public:
  int input() { return emit(Op::input); }
  int constant(double k) { return emit(Op::constant, -1, -1, k); }
  int emit(Op op, int a = -1, int b = -1, double k = 0);

  int scaled(int a, double k);
  int multiplied(int a, int b);
  /// a^n for n >= 1 by repeated squaring.
  int raised(int a, std::int64_t n);

  const std::vector<Instruction>& code() const { return code_; }

 private:
  std::vector<Instruction> code_;
  std::map<std::tuple<Op, int, int, std::uint64_t>, int> known_;
};

/// The nodes of an expression in x, in forms that do not lose digits: exp(u) - 1 is expm1(u),
/// 1 - tanh(u)^2 is 4 sigmoid(2u) sigmoid(-2u), and so on.
class Lowering {
 public:
  explicit Lowering(Builder& builder) : builder_(builder) {}
  int lower(const Expr& expr);

 private:
  int lower_new(const Expr& expr);
  int lower_sum(const Expr& sum);
  int lower_product(const Expr& product);
  int lower_quotient(int total, const Expr& base, const Rational& exponent);
  int lower_power(const Expr& base, const Expr& exponent);
  int lower_call(const std::string& name, const Expr& argument);
  int lower_exp(const Expr& argument);
  int lower_log(const Expr& argument);
  static std::vector<Expr> gathered(const std::vector<Expr>& factors);
  int add_terms(const std::vector<Expr>& terms, int total);

  Builder& builder_;
  std::map<Expr, int> known_;
};

/// Code with registers assigned, ready to run.
class Program {
 public:
  Program() = default;
  /// The results are the values of these nodes.
  Program(const Builder& builder, const std::vector<int>& results);
  /// outputs[k][i] = result k at x[i]; count is a multiple of the lanes, at most block_size.
  void run(const double* x, double* const* outputs, std::size_t count) const;

  static constexpr std::size_t block_size = 128;

  /// Operands and target are registers; -1 is the input (or no operand).
  struct Step {
    Instruction instruction;
    int target;
  };
  const std::vector<Step>& steps() const { return steps_; }
  /// The registers of the results.
  const std::vector<int>& results() const { return results_; }
  int registers() const { return registers_; }

 private:
  std::vector<Step> steps_;
  std::vector<int> results_;
  int registers_ = 0;
};

}  // namespace scalecalc::activation_room
