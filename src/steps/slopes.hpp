#pragma once

#include <vector>

#include "scalecalc/activation.hpp"
#include "steps/own_change.hpp"

/// Averages of products of an activation and its slopes over samples that share a part.
namespace scalecalc::steps {

/// With u_s = mean + sqrt(variance) (sqrt(c) x + sqrt(1 - c) y_s), of numbers x, y_s ~ N(0, 1), c
/// the correlation of two samples; f = phi(u), d = phi'(u); s, t, r are different samples.
struct SlopeAverages {
  double d2 = 0, d3d = 0, d4 = 0;      ///< E d^2, E d_s^3 d_t, E d^4
  double dd = 0, d2d2 = 0;             ///< E d_s d_t, E d_s^2 d_t^2
  double d2dd = 0;                     ///< E d_s^2 d_t d_r
  double f2 = 0, ff = 0, f4 = 0;       ///< E f^2, E f_s f_t, E f^4
  double d2f2 = 0;                     ///< E d^2 f^2
  std::vector<FeatureClass> features;  ///< of phi(u), by x
  /// E d^2, E d_s d_t and E d^4 at each x, as often as `share` says.
  struct AtShared {
    double share, d2, dd, d4;
  };
  std::vector<AtShared> slopes;
};
/// By sums at equal steps. `correlation` outside [0, 1] is taken to its nearer end.
SlopeAverages slope_averages(const Activation& activation, double mean, double variance,
                             double correlation);

}  // namespace scalecalc::steps
