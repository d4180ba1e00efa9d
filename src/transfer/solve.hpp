#pragma once

#include "scalecalc/transfer.hpp"

namespace scalecalc {

/// The problem without those numbers of what its parametrisation gives.
template <class... Member>
TransferProblem without(TransferProblem problem, Member... members) {
  Parametrization& given = problem.parametrization;
  for (auto* list : {&given.kinds, &given.tensors})
    for (auto& [key, numbers] : *list) ((numbers.*members).reset(), ...);
  return problem;
}

/// As solve_transfer(), without what standard practice misses.
TransferSolution solve_exponents(const TransferProblem& problem);

}  // namespace scalecalc
