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
  Expr where;           ///< exact when it can be had, else a decimal of 60 digits
  double at = 0;
  bool jump = false;    ///< the value jumps; else it is a kink of some order
  double jump_size = 0;
};

/// One activation with its parameters set. Immutable, cheap to copy.
class Activation {
 public:
  /// By name: "leaky_relu", parameters {a: 1/5}. Throws Error(input).
  static Activation named(std::string_view name, const std::map<std::string, Rational>& parameters = {});
  /// The user's expression in x. Throws Error(input) with the column of a mistake, for other
  /// symbols than x, and for expressions that have no real value on part of the line (log(x)).
  static Activation from_expression(std::string_view text);

  const std::string& name() const;  ///< the registry's, or the expression
  const Expr& expression() const;   ///< in x alone
  const Expr& derivative() const;   ///< almost everywhere
  const std::vector<Break>& breaks() const;  ///< rising
  bool has_jump() const;
  /// Smooth expressions between the breaks, breaks().size() + 1 of them: max, min, abs, sign, step
  /// and the like are resolved.
  const std::vector<Expr>& pieces() const;
  const std::vector<Expr>& slope_pieces() const;
  /// Positions and widths (in x) that a quadrature should resolve: centres of sigmoids, and so on.
  const std::vector<double>& scales() const;

  double value(double x) const;
  double slope(double x) const;  ///< at a break: the mean of both sides
  /// y[i] = phi(x[i]); dy[i] = phi'(x[i]) when dy is not null. Vectorised.
  void evaluate(const double* x, double* y, double* dy, std::size_t count) const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit Activation(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace scalecalc
