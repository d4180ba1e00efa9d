#pragma once

#include <vector>

#include "scaling/block.hpp"

namespace scalecalc {

/// Everything the equation is made of, before it is solved.
struct Setup {
  Optimizer optimizer;
  StepLaw law;
  Block block;
  BlockMoments moments;
  std::int64_t sublayers = 2;
  Expr depth;          ///< N or M
  Expr matrices;       ///< 2N: branches; each holds a fixed number of scaled matrices
  Expr gradient;       ///< size of one matrix' gradient, in alpha and lambda
  Expr equation;       ///< must be 1
  Expr relative_step;  ///< in alpha and lambda
};

/// The numbered argument from the update rule to the pair.
std::vector<DerivationStep> derivation(const Setup& setup, const ScalingSolution& solution);

/// What must hold for the argument, evaluated at the asked depth.
std::vector<Condition> conditions(const Setup& setup, const ScalingSolution& solution,
                                  std::int64_t layers);

}  // namespace scalecalc
