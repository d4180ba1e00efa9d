#pragma once

#include "scalecalc/softmax.hpp"

namespace scalecalc::gaussian::softmax {

/// Longer series cost more than softmax_pair.
inline constexpr int kMostTerms = 200;
/// Below, A' as a quotient by tau2 would lose its digits; its limit is off by no more than this.
inline constexpr double kLeastVariance = 1e-12;

/// Whether Mehler's series tells O and A' in kMostTerms or fewer.
bool series_is_short(double keys, double tau2, double correlation);

/// Where it does not. Derivatives of A' from the parabola through three points, away from c = 1
/// where need be; A' varies on the scale 1/tau2 there.
SoftmaxOverlaps by_differences(double fewer, double more, double tau2, double correlation);

/// softmax_averages without its checks; keys may be any real number >= 1.
SoftmaxAverages averages(double keys, double tau2, double correlation);

}  // namespace scalecalc::gaussian::softmax
