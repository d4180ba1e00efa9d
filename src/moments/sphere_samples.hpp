#pragma once

#include "moments/state.hpp"
#include "scalecalc/activation.hpp"

/// Activations right behind a norm over samples: the samples of a feature are a point of a sphere
/// there, not Gaussian (docs/theory/layers.md#sphere).
namespace scalecalc::moments {

/// What averages of phi over such features have beyond those over Gaussian ones of the same second
/// moments and mean 0.
struct SphereExcess {
  Alike<double> values;       ///< E phi, E phi^2, E phi(u)phi(v)
  Alike<double> slopes;       ///< E phi'^2, E phi'(u)phi'(v)
  Alike<double> input_slope;  ///< the same of F = u phi'
};

/// `size_excess` < 0: relative variance of |u|^2 over the samples beyond that of Gaussian ones, of
/// nu dimensions -2/(nu + 2). `x`: of u, whose sequences know nothing of each other where `between`
/// is 0.
SphereExcess sphere_excess(const Activation& activation, const Alike<double>& x,
                           double size_excess);

}  // namespace scalecalc::moments
