#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gaussian/closed_form/expectation.hpp"
#include "scalecalc/gaussian.hpp"

namespace scalecalc::gaussian {

/// A function of x that is smooth between its breaks.
struct Piecewise {
  std::vector<Expr> pieces;  ///< one more than breaks
  std::vector<Expr> breaks;  ///< rising constants
};
Piecewise values_of(const Activation& activation);
Piecewise slopes_of(const Activation& activation);

/// As a sum of terms with half-lines, each on the side away from 0 where that can be, so that
/// probabilities are small and do not cancel.
Terms half_line_form(Ring& ring, const std::vector<Terms>& pieces, const std::vector<Expr>& breaks);

/// What the correlation of a pair is taken to be.
enum class Correlation { symbol, minus_one };

/// The formula of E f(u)^power, or of E f(u) f(v).
ClosedForm formula_1d(const Piecewise& function, int power, InputMean mean);
ClosedForm formula_pair(const Piecewise& function, InputMean mean, Correlation correlation);

}  // namespace scalecalc::gaussian
