#include "moments/kept_input.hpp"

#include <cmath>

namespace scalecalc::moments {

double mean_root(double variance) {
  constexpr double small = 1e-5;  // of a variance v, 1 - v/8 + O(v^2)
  if (variance < small) return 1 - variance / 8;
  const double nu = 2 / variance;
  return std::sqrt(2 / nu) * std::exp(std::lgamma((nu + 1) / 2) - std::lgamma(nu / 2));
}

double mean_inverse_root(double inverse) {
  constexpr double small = 1e-5;  // E 1/s^2 E s^2 = 1 + v + O(v^2), and 1 - v/8 likewise
  if (inverse - 1 < small) return 1 - (inverse - 1) / 8;
  const double nu = 2 * inverse / (inverse - 1);
  return std::sqrt((nu - 2) / 2) * std::exp(std::lgamma((nu - 1) / 2) - std::lgamma(nu / 2));
}

}  // namespace scalecalc::moments
