#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "scalecalc/transfer.hpp"

namespace scalecalc {

/// One tensor on one axis, in exponents: what a parametrisation says of it.
struct Start {
  /// Of a router each column is a matrix of its own, which few tokens reach: `columns` of them.
  Rational fan_in, fan_out, columns;
  Rational multiplier, std;
  std::optional<Rational> lr, decay, eps;  ///< where a file gives them
};

/// Of each tensor. Adds to the solution what breaks the sizes at init. Throws Error(input) where a
/// file gives two numbers to one tensor of two uses.
std::vector<Start> starts_on(const TransferProblem& problem, GrowthAxis axis,
                             TransferSolution& solution);

/// The table and the head that are one tensor; the number of tensors where none are.
std::pair<std::size_t, std::size_t> tied_pair(const TransferModel& model);

/// r to this power on that axis, as text.
std::string power_text(GrowthAxis axis, const Rational& exponent);

}  // namespace scalecalc
