#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "symbolic/node.hpp"

namespace scalecalc::symbolic {

struct Interval;

/// f(t x) = t^p f(x) for t > 0.
enum class Degree { none, zero, one };
enum class Parity { none, odd, even };
/// The sign of the value, given the sign of the argument.
enum class Range { any, positive, nonnegative, of_argument, minimum, maximum };

/// A function of the formula language, and everything that is known of it.
struct Function {
  std::string_view name;
  int least_arguments = 1, most_arguments = 1;
  Degree degree = Degree::none;
  Parity parity = Parity::none;
  Range range = Range::any;
  /// A simpler equal expression, when there is one.
  std::optional<Expr> (*fold)(const std::vector<Expr>&) = nullptr;
  /// f'(x), for functions of one argument. Null where there is none.
  Expr (*derivative)(const Expr&) = nullptr;
  /// The derivative by one of several arguments. Null where there is none.
  Expr (*partial)(const std::vector<Expr>&, std::size_t) = nullptr;
  /// Null for functions of matrices, which have no value here.
  double (*in_double)(std::span<const double>) = nullptr;
  Interval (*in_interval)(std::span<const Interval>) = nullptr;
  /// A name to call, or a template in which $ is the argument.
  std::string_view latex, python, c;

  Signs signs(const std::vector<Expr>& arguments) const;
};

const std::vector<Function>& functions();
/// Null when the language has no such function.
const Function* find_function(std::string_view name);
std::vector<std::string> function_names();

namespace folding {
using Arguments = std::vector<Expr>;
std::optional<Expr> exponential(const Arguments& arguments);
std::optional<Expr> logarithm(const Arguments& arguments);
std::optional<Expr> absolute(const Arguments& arguments);
std::optional<Expr> signum(const Arguments& arguments);
std::optional<Expr> step(const Arguments& arguments);
std::optional<Expr> relu(const Arguments& arguments);
std::optional<Expr> sine(const Arguments& arguments);
std::optional<Expr> cosine(const Arguments& arguments);
std::optional<Expr> tangent(const Arguments& arguments);
std::optional<Expr> arcsine(const Arguments& arguments);
std::optional<Expr> arccosine(const Arguments& arguments);
std::optional<Expr> arctangent(const Arguments& arguments);
/// f(0) = 0, 1, 1/2 and nothing else.
std::optional<Expr> zero_at_zero(const Arguments& arguments);
std::optional<Expr> one_at_zero(const Arguments& arguments);
std::optional<Expr> half_at_zero(const Arguments& arguments);
std::optional<Expr> minimum(const Arguments& arguments);
std::optional<Expr> maximum(const Arguments& arguments);
}  // namespace folding

}  // namespace scalecalc::symbolic
