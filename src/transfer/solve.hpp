#pragma once

#include "scalecalc/transfer.hpp"

namespace scalecalc {

/// As solve_transfer(), without what standard practice misses.
TransferSolution solve_exponents(const TransferProblem& problem);

}  // namespace scalecalc
