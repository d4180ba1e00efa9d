#pragma once

#include <optional>

#include "scalecalc/gaussian.hpp"

namespace scalecalc::gains_room {

/// Closed form where there is one, else quadrature. Infinite past the range of double.
Estimate expectation(const Activation& activation, Moment moment, const GaussianInput& input);

/// The same to 1e-13 of the value, without the digits that a cancelling formula costs: for looking
/// where a root lies.
double quick_expectation(const Activation& activation, Moment moment, const GaussianInput& input);

/// s u, from ln s^2.
GaussianInput scaled(const GaussianInput& input, double log_square);
/// E phi(s u)^2 by quick_expectation for every ln s^2 of scan(); infinite from where it does not
/// exist or passes the range of double.
std::vector<double> scanned_second(const Activation& activation, const GaussianInput& input);

/// factor(x)*phi(x), and phi(x) - offset, as activations of their own.
Activation times(const Activation& activation, const Expr& factor);
Activation minus(const Activation& activation, const Expr& offset);

/// Var phi(u), from phi minus its mean: nothing cancels.
Estimate variance_of(const Activation& activation, const GaussianInput& input);

/// f(x) with f' = slope, and the error of x carried through.
Estimate mapped(const Estimate& from, double value, double slope);
/// x^(-1/2).
Estimate inverse_root(const Estimate& from);

/// Why E phi'^2 is infinite, if it is.
std::optional<std::string> infinite_slope(const Activation& activation);

/// The map of second moments through an activation with input N(0, q).
class SecondMap {
 public:
  explicit SecondMap(const Activation& activation) : activation_(activation) {}
  /// E phi^2; infinite where it does not exist or passes the range of double.
  double second(double q) const;
  /// scanned_second at N(0, 1), found once.
  const std::vector<double>& scanned() const;
  /// d ln E phi^2 / d ln q = (E[(u^2/q) phi^2]/E[phi^2] - 1)/2, right at kinks and jumps too: the
  /// derivative is taken of the density.
  Estimate log_slope(double q) const;
  /// E phi'^2; infinite where phi jumps.
  double slope_second(double q) const;
  const Activation& activation() const { return activation_; }

 private:
  const Activation& times_x() const;

  Activation activation_;
  mutable std::optional<Activation> times_x_;
  mutable std::vector<double> scanned_;
};

}  // namespace scalecalc::gains_room
