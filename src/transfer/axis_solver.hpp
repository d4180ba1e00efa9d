#pragma once

#include <vector>

#include "scalecalc/transfer.hpp"
#include "transfer/update_size.hpp"

namespace scalecalc {

/// Whether the network grows on it: on all but batch and tokens.
bool changes_network(GrowthAxis axis);

/// Fills in what one axis asks of each tensor: docs/theory/transfer.md. `rules` has that of each
/// tensor. Adds to the solution's bindings and warnings. Throws Error(input) where no sizes of all
/// steps agree.
void solve_axis(const TransferProblem& problem, GrowthAxis axis,
                const std::vector<const TransferRule*>& rules, TransferSolution& solution);

/// What eps stands beside, for a gradient of this entry size.
Rational eps_exponent(EpsPlace place, const Rational& gradient, const Rational& fans);

}  // namespace scalecalc
