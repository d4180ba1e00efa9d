#pragma once

#include <cmath>

#include "scalecalc/activation.hpp"

/// Norms right behind an activation: the size s^2 = (1/n) sum (phi_i - c)^2 of n independent values
/// phi(u), with c = 0 or their mean (docs/theory/layers.md#value-scatter).
namespace scalecalc::moments {

/// The means, and what averages with s^2 have beside their product.
struct ValueScatter {
  double size = 0;   ///< E phi^2, or the variance of phi
  double slope = 0;  ///< E phi'^2
  /// Of y = (phi - E phi)/s: E phi'^2 y^2 - E phi'^2, and (E phi' y)^2.
  double tied_second = 0, tied_cross = 0;
  double inverse = 1;  ///< E 1/(s^2 + eps) times size + eps
  double square = 1;   ///< E 1/(s^2 + eps)^2 over the square of E 1/(s^2 + eps)
  double slopes = 1;   ///< E phi'^2/(s^2 + eps)
  double inputs = 1;   ///< E (u phi')^2/(s^2 + eps), u about its mean
};

/// u of this mean and variance; count 0: so many values that s^2 is its mean. Of a phi that is
/// constant somewhere, values that are all the same are left out.
ValueScatter value_scatter(const Activation& activation, double mean, double variance, double count,
                           bool centred, double eps);

/// Averages of the same over sizes of u: its variance is that times q, a Gamma variable of mean 1
/// as the mean of Gaussian features' squares is, and Var ln q = `sizes` to first order
/// (docs/theory/layers.md#value-scatter). What is of one token goes as q does together.
ValueScatter value_scatter_of_sizes(const Activation& activation, double mean, double variance,
                                    double sizes, double count, bool centred, double eps);

/// E 1/s^2 times E s^2 of `count` independent values phi(u) w about their mean, w Gaussian: of a
/// gated unit. Infinite where phi is 0 so often that it does not exist.
double gated_inverse(const Activation& activation, double mean, double variance, double count);

/// Sizes whose logarithms differ by a smaller variance count as one.
inline constexpr double least_sizes = 1e-4;

/// f(q, weight) of Gamma variables q of mean 1 and relative variance `sizes`, at steps of t = ln q,
/// whose density is e^(k (t - e^t)) with k = 1/sizes; its left tail is the longer one. Returns the
/// sum of weights.
template <class F>
double over_sizes(double sizes, const F& f) {
  constexpr double step = 1, from = -6, to = 4;
  const double deviation = std::sqrt(sizes);
  double total = 0;
  for (double z = from; z < to + step / 2; z += step) {
    const double t = z * deviation, q = std::exp(t), weight = std::exp((t - q + 1) / sizes);
    total += weight;
    f(q, weight);
  }
  return total;
}

/// `share` of what the values make is left: of sizes that vary by as much of what independent ones
/// do, since behind a norm u lies on a sphere and the size of phi(u) goes with that of u; of a
/// gradient of which as much has been divided by them.
inline void tie_values(double share, ValueScatter& values) {
  for (double* one : {&values.inverse, &values.slopes, &values.inputs})
    *one = 1 + share * (*one - 1);
  values.square = 1 + share * share * (values.square - 1);
}

}  // namespace scalecalc::moments
