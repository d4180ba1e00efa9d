#pragma once

#include <algorithm>

#include "moments/constant_samples.hpp"
#include "moments/fluctuations.hpp"
#include "moments/signal.hpp"

/// Tokens of which an activation has left nothing (docs/theory/layers.md#zero-tokens).
namespace scalecalc::moments {

/// Chance that all features of a token are 0, behind an activation or weights that have no bias;
/// with `any`, that they are all the same, which a norm that takes out the mean makes 0.
template <class C, class X>
double chance_of_zero(C& calculus, const Signal<X>& in, bool any) {
  if (!in.flat) return in.none;
  const Activation& phi = calculus.function(in.flat->function)->activation();
  // A gate is multiplied by what weights made of the same token.
  const double before = in.flat->gate || phi.value(0) == 0 ? double(in.none) : 0;
  double dropped = 0;
  for (Eigen::Index i = 0; i < in.mixture.weight.size(); ++i)
    if (in.mixture.variance[i] == 0) dropped += in.mixture.weight[i];
  const Alike<double>& u = in.flat->input;
  const double made =
      chance_of_none(phi, u.mean, u.second - u.mean * u.mean, in.flat->size_variance,
                     static_cast<double>(in.width), any && !in.flat->gate && dropped == 0, dropped);
  return before + (1 - before) * made;
}

/// Variance over draws of the logarithm of the average over tokens of which this share is 0: tokens
/// are so together as far as they are alike.
inline double of_zero_tokens(double zero, const Alike<double>& x, const Counts& counts) {
  if (!(zero > 0 && zero < 1)) return 0;
  const double together = x.second > 0 ? std::clamp(x.cross / x.second, 0.0, 1.0) : 0;
  return log_variance_of(zero / (1 - zero) * (together + (1 - together) / counts.samples()));
}

}  // namespace scalecalc::moments
