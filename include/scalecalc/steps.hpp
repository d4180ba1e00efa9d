#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"
#include "scalecalc/optimizers.hpp"
#include "scalecalc/step_samples.hpp"
#include "scalecalc/trace.hpp"

/// The first step of an optimizer, predicted from moments (docs/theory/first-step.md): how far it
/// moves every site, every parameter and the loss, on the samples that it is taken on.
namespace scalecalc {

struct StepSite {
  std::string path, kind;  ///< as in Site
  std::int64_t width = 0, tokens = 0;
  Figure change;      ///< E (dx)^2 of a feature, dx its value after the step less that before
  double second = 0;  ///< E x^2 before
};
struct StepParameter {
  std::string path;
  std::int64_t rows = 0, columns = 0;
  Figure update;      ///< E (d theta)^2 of an entry, by the last step alone
  double second = 0;  ///< E theta^2 before
  /// E of the largest singular value squared, of the change by the last step and of theta before;
  /// truncation: how far draws lie from it, and what is left out. Not a number: not known.
  Figure update_norm, norm;
};
struct FirstStep {
  std::vector<StepSite> sites;            ///< in the order of the trace
  std::vector<StepParameter> parameters;  ///< likewise
  Figure loss_change;                     ///< first order in the step; below 0
  /// The second order that the change of the logits makes: (1/2) dz^T H dz, H the Hessian of the
  /// loss in the logits.
  double loss_curvature = 0;
  std::vector<Premise> assumptions;
};
/// The first of the steps that were measured: means over draws with their standard errors, which
/// are infinite for one draw.
FirstStep first_step_of(const StepSamples& samples);
/// Likewise of the first so many together, 1 to those that were measured.
FirstStep steps_of(const StepSamples& samples, std::size_t steps);

/// `trace` is what propagate() gives for the network, with its gradients. Throws Error(input) for
/// layers that have no such rule (it names them: convolutions, dropout, mixtures of experts, two
/// streams or stacks, class tokens, tied heads, normalised weights), for weight_decay, for a trace
/// of another network, and what validate() refuses.
FirstStep predict_first_step(const Network& network, const Trace& trace,
                             const OptimizerOptions& options);
/// What so many steps do together, 1 to 1000, on the same samples, as far as each follows the first
/// gradient (docs/theory/first-step.md#later-steps): to first order in their sum, whose size
/// against the values bounds what is left out. Throws likewise.
FirstStep predict_steps(const Network& network, const Trace& trace, const OptimizerOptions& options,
                        int steps);

}  // namespace scalecalc
