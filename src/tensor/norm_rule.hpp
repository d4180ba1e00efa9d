#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/host_device.hpp"

/// A norm, by entry: y = (x - mean) c with c = (variance + eps)^(-1/2), along a row or down a
/// column. One without centring has mean 0 and the mean square in place of the variance.
namespace scalecalc::tensor {

/// c of variance + eps; 0 where that is 0, so that entries without variance become 0.
template <class Real>
SCALECALC_HOST_DEVICE Real norm_factor(Real power) {
  return power > Real(0) ? Real(1) / std::sqrt(power) : power;
}

/// Whether a variance is less than rounding can leave about the mean of `count` equal entries,
/// whose distances from one of them are exactly 0.
template <class Real>
SCALECALC_HOST_DEVICE bool is_rounding(Real variance, Real mean, std::int64_t count) {
  const Real most = static_cast<Real>(count) * std::numeric_limits<Real>::epsilon() * mean;
  return variance < most * most;
}

template <class Real>
SCALECALC_HOST_DEVICE Real normalised(Real x, Real mean, Real factor) {
  return (x - mean) * factor;
}

/// dx = c (dy - mean(dy) - y mean(dy y)); `mean`, of dy, is 0 without centring, and `along` is
/// mean(dy y).
template <class Real>
SCALECALC_HOST_DEVICE Real norm_gradient(Real dy, Real mean, Real y, Real along, Real factor) {
  return factor * (dy - mean - y * along);
}

}  // namespace scalecalc::tensor
