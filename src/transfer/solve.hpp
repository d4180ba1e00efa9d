#pragma once

#include "scalecalc/transfer.hpp"

namespace scalecalc {

/// As solve_transfer(), without what standard practice misses.
TransferSolution solve_exponents(const TransferProblem& problem);

/// The power of t that eps carries: of what it is added to.
Rational eps_power(EpsPlace place);

}  // namespace scalecalc
