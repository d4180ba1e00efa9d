#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/symbolic.hpp"

/// Activations, each one symbolic expression in the real symbol x; derivative, kinks, jumps and
/// compiled evaluation all follow from it.
namespace scalecalc {

struct ActivationParameter {
  std::string name;
  Rational default_value;
  std::string meaning;
};

/// What the registry holds: the expression with its parameters as symbols.
struct ActivationInfo {
  std::string name;
  std::vector<std::string> aliases;
  Expr expression;  ///< in x and the parameters
  std::vector<ActivationParameter> parameters;
  std::string source;  ///< where it is defined
};

const std::vector<ActivationInfo>& activations();
/// Names and aliases.
std::vector<std::string> activation_names();
/// Throws Error(input) with the nearest names; `where` names the option or the file position.
const ActivationInfo& activation(std::string_view name, const std::string& where = "activation");

/// A point where the expression is not smooth.
struct Break {
  Expr where;  ///< exact when it can be had, else a decimal of 60 digits
  double at = 0;
  bool jump = false;  ///< the value jumps; else it is a kink of some order
  double jump_size = 0;
};

/// One activation with its parameters set. Immutable, cheap to copy.
class Activation {
 public:
  /// By name or alias: "leaky_relu", parameters {a: 1/5}; others keep their defaults. Throws
  /// Error(input).
  static Activation named(std::string_view name,
                          const std::map<std::string, Rational>& parameters = {});
  /// The user's expression in x, in the functions of the formula language and the registered
  /// activations (x + mish(x), with default parameters). Throws Error(input) with the column of a
  /// mistake, for other symbols than x, for expressions that have no real value on part of the line
  /// (log(x)) or a pole (1/x), and for more than 64 kinks. A place with limits alone (sin(x)/x at
  /// 0) is filled.
  static Activation from_expression(std::string_view text);

  const std::string& name() const;           ///< the registry's, or the expression
  const Expr& expression() const;            ///< in x alone
  const Expr& derivative() const;            ///< almost everywhere
  const std::vector<Break>& breaks() const;  ///< rising
  bool has_jump() const;
  /// Smooth expressions between the breaks, breaks().size() + 1 of them: max, min, abs, sign, step
  /// and the like are resolved.
  const std::vector<Expr>& pieces() const;
  const std::vector<Expr>& slope_pieces() const;
  /// Positions in x that a quadrature should resolve, rising: the centre of every sigmoid, bell and
  /// the like, and one width to either side of it. At most 96.
  const std::vector<double>& scales() const;

  /// Within 16 units in the last place of |f(x)| + |x f'(x)| at every x (f the value or the slope),
  /// for results above 2^-1000; NaN for NaN. At a jump: the mean of both sides.
  double value(double x) const;
  double slope(double x) const;  ///< at a break: the mean of both sides
  /// y[i] = phi(x[i]); dy[i] = phi'(x[i]) when dy is not null; y may be x. Vectorised; the same
  /// bits as value and slope, whatever the count.
  void evaluate(const double* x, double* y, double* dy, std::size_t count) const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit Activation(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace scalecalc
