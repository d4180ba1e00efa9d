#pragma once

#include <optional>

#include "moments/pointwise.hpp"
#include "scalecalc/activation.hpp"

/// Features that an activation makes the same at all samples of a norm: relu's that are below 0
/// everywhere. A norm over samples makes 0 of them, and the activation hands them no gradient.
namespace scalecalc::moments {

/// Chances of a feature.
struct ConstantSamples {
  double all = 0;  ///< that all samples are on one constant piece of phi
  double few = 0;  ///< that all but one or two are, or nearly so: E 1/variance does not exist
  bool zero_sum = false;  ///< samples of phi's input add up to 0
};

/// Features whose samples share a part of their input have s^2 of their own where phi is not
/// linear: averages over features, beside what one s^2 = its mean gives.
struct FeatureScatter {
  double forward = 1;  ///< E s^2/(s^2 + eps)
  double inverse = 1;  ///< E 1/(s^2 + eps)
  double slopes = 1;   ///< E phi'^2/(s^2 + eps) over the product of means
  double tail = 0;     ///< relative variance over features of 1/(s^2 + eps)
  /// All is of independent samples. Those that a norm has centred add up to 0, so that not all are
  /// on one side, where phi may be flat; and of a few sequences whose tokens are nearly one, what
  /// differs within them decides where 1/s^2 has no mean without it.
  bool unknown = false;
  /// Of y = phi about its mean over samples, over s: E phi'^2 (y^2 - 1)/s^2 and E phi'(u)y_u
  /// phi'(v)y_v/s^2, in units of E 1/s^2.
  struct Tie {
    double second = 0, cross = 0;
  };
  std::optional<Tie> tie{};
};
/// `x`: the averages of u; `gaussian`: E 1/s^2 of Gaussian samples, beside which `inverse` is.
/// `inverse` is 1 where it does not exist, of a phi that is constant somewhere, and where so many
/// features say nothing of it.
FeatureScatter feature_scatter(const Activation& activation, const Alike<double>& x,
                               const Counts& over, double features, double eps, double gaussian);

/// `over`: tokens of one sequence, and of so many; of a gated unit those are constant whose gate is
/// 0.
ConstantSamples constant_samples(const Activation& activation, const Alike<double>& x,
                                 const Counts& over, bool is_gate = false);

/// Chance that `count` independent values phi(u) are all 0, or, with `any`, all the same: of a phi
/// that is constant somewhere. u has this mean, and a variance whose logarithm has the variance
/// `sizes`. With the chance `dropped` a value is 0 whatever u is.
double chance_of_none(const Activation& activation, double mean, double variance, double sizes,
                      double count, bool any, double dropped = 0);

}  // namespace scalecalc::moments
