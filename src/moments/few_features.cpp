#include "moments/few_features.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace scalecalc::moments {
namespace {

/// Sums over equal steps of ln s: the weight of a Gamma variable of mean 1 falls as s^(n/2) below
/// and faster above.
template <class F>
double gamma_mean(double features, double eps, const F& f) {
  constexpr double step = 0.25, negligible = 36;  // e^-36 of the whole
  const double shape = features / 2;
  double sum = 0, weights = 0;
  const double first = std::min(0.0, std::log(std::max(eps, 1e-300))) - negligible / shape;
  for (double x = first; x < std::log(1 + negligible / shape) + 2; x += step) {
    const double s = std::exp(x), weight = std::exp(shape * (x - s));
    weights += weight;
    sum += weight * f(s);
  }
  return sum / weights;
}

}  // namespace

/// d/dc of c F(1/2, 1/2; n/2 + 1; c^2) is Euler's integral over sin^2 = tanh^2 y, of equal steps in
/// y.
double unit_slope(double features, double apart) {
  constexpr double step = 0.2, negligible = 1e-12;
  double sum = 0.5;
  for (double y = step, last = 1;; y += step) {
    const double sinh = std::sinh(y), bent = 1 + apart * sinh * sinh;
    const double term = std::pow(std::cosh(y), 2 - features) / (bent * std::sqrt(bent));
    sum += term;
    if (term < last && term < negligible * sum) break;
    last = term;
  }
  const double whole = std::exp(std::lgamma((features + 1) / 2) - std::lgamma(features / 2));
  return 2 / std::sqrt(std::numbers::pi) * whole * step * sum;
}

FewFeatures::FewFeatures(double features, double share) : features_(features), share_(share) {
  const double n = features, eps = (1 - share) / share;
  start_ = unit_slope(n, 1);
  if (eps > 0) {
    second_ = (1 + eps) * gamma_mean(n, eps, [&](double s) {
                const double along = eps / (s + eps);
                return (1 - (1 - along * along) / n) / (s + eps);
              });
    const double mean =
        gamma_mean(n, eps, [&](double s) { return (1 - s / (s + eps) / n) / std::sqrt(s + eps); });
    apart_ = (1 + eps) * mean * mean;
  } else {
    second_ = n <= 1 ? 0 : (1 - 1 / n) * std::max(n, 3.0) / (std::max(n, 3.0) - 2);
    apart_ = n <= 1 ? 0 : start_;
  }
  // What cross() rises by without eps is cut where it has reached `second`.
  const double rise = second_ - apart_;
  constexpr double least = 1e-14;  // of 1 - c^2, beside what rounding leaves of it
  const double most = unit_slope(n, least) - start_;
  if (!(rise > 0)) {
    scale_ = most > 0 ? rise / most : 0;
    cut_ = least;
    return;
  }
  if (rise >= most) {
    scale_ = rise / most;
    cut_ = least;
    return;
  }
  double low = std::log(least), high = 0;
  constexpr int halvings = 40;  // to the digits of unit_slope
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (unit_slope(n, std::exp(middle)) - start_ > rise ? low : high) = middle;
  }
  cut_ = std::exp((low + high) / 2);
}

double FewFeatures::cross(double c) const {
  const double square = std::min(c * c, 1.0);
  return apart_ + scale_ * (unit_slope(features_, 1 - square * (1 - cut_)) - start_);
}

}  // namespace scalecalc::moments
