#pragma once

#include <array>
#include <string>

#include "scalecalc/optimizers.hpp"
#include "scalecalc/transfer.hpp"

/// A model at the sizes that it is compared at.
namespace scalecalc::coordinates {

/// What the solver calls the rule that these options step by. Muon steps hidden matrices, and
/// leaves the rest to AdamW.
TransferOptimizer rule_of(const OptimizerOptions& options);

/// A network of one size and what steps it.
struct Sized {
  Network network;
  OptimizerOptions optimizer;
};
/// The base's numbers times what the solution says at these ratios. Throws as
/// transferred_network() does.
Sized sized(const ModelSpec& base, const ModelSpec& spec, const TransferSolution& solution,
            const std::array<double, growth_axes>& ratios, const OptimizerOptions& optimizer);

}  // namespace scalecalc::coordinates
