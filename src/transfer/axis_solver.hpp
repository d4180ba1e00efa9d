#pragma once

#include <vector>

#include "scalecalc/transfer.hpp"
#include "transfer/update_size.hpp"

namespace scalecalc {

/// Fills in what one axis that changes the network (all but batch and tokens) asks of each tensor:
/// docs/theory/transfer.md. `rules` has that of each tensor. Adds to the solution's bindings and
/// warnings.
void solve_axis(const TransferProblem& problem, GrowthAxis axis,
                const std::vector<const TransferRule*>& rules, TransferSolution& solution);

/// What eps stands beside, for a gradient of this entry size.
Rational eps_exponent(EpsPlace place, const Rational& gradient, const Rational& fans);

}  // namespace scalecalc
