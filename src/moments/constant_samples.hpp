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

/// Features whose samples share a part of their input have s^2 of their own where phi is not
/// linear: averages over features, beside what one s^2 = its mean gives.
struct FeatureScatter {
  double forward = 1;  ///< E s^2/(s^2 + eps)
  double inverse = 1;  ///< E 1/(s^2 + eps)
  double slopes = 1;   ///< E phi'^2/(s^2 + eps) over the product of means
  double tail = 0;     ///< relative variance over features of 1/(s^2 + eps)
};
/// `x`: the averages of u. `inverse` is 1 where it does not exist, of a phi that is constant
/// somewhere, and where so many features say nothing of it.
FeatureScatter feature_scatter(const Activation& activation, const Alike<double>& x,
                               const Counts& over, double features, double eps);

/// `over`: tokens of one sequence, and of so many.
ConstantSamples constant_samples(const Activation& activation, const Alike<double>& x,
                                 const Counts& over);

}  // namespace scalecalc::moments
