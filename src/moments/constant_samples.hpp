#pragma once

#include "moments/pointwise.hpp"
#include "scalecalc/activation.hpp"

/// Features that an activation makes the same at all samples of a norm: relu's that are below 0
/// everywhere. A norm over samples makes 0 of them, and the activation hands them no gradient.
namespace scalecalc::moments {

/// Chances of a feature.
struct ConstantSamples {
  double all = 0;  ///< that all samples are on one constant piece of phi
  double few = 0;  ///< that all but one or two are, where E 1/variance does not exist
};

/// `over`: tokens of one sequence, and of so many.
ConstantSamples constant_samples(const Activation& activation, const Alike<double>& x,
                                 const Counts& over);

}  // namespace scalecalc::moments
