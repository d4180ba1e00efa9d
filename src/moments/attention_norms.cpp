#include "moments/attention_norms.hpp"

#include <numbers>

#include "moments/norm_tokens.hpp"

namespace scalecalc::moments {

double HeadNorm::kept(double second) const {
  if (eps == 0) return 1;
  return second > 0 ? kept_beside_eps(second, eps, v) : 0;
}

/// (2/d) (Gamma((d+1)/2)/Gamma(d/2))^2 c F(1/2, 1/2; d/2 + 1; c^2) = 1 - (1 - c) - c times the sum
/// of the series' terms times 1 - c^(2 k), which keeps its digits where c is near 1 (the sum at 1
/// is 1).
double HeadNorm::unit_cosine(double c) const {
  constexpr int most_terms = 1000;
  constexpr double negligible = 1e-13;
  if (d <= 1)
    return c == 0 ? 0
                  : std::copysign(
                        2 / std::numbers::pi * std::asin(std::fabs(std::clamp(c, -1.0, 1.0))), c);
  const double of = std::min(std::fabs(c), 1.0), square = of * of;
  const double ratio = std::exp(std::lgamma((d + 1) / 2) - std::lgamma(d / 2));
  double term = 2 / d * ratio * ratio, missing = 0, sum = 0;
  for (int k = 0; k < most_terms && term > negligible; ++k) {
    sum += term * missing;
    const double odd = k + 0.5;
    term *= odd * odd / ((k + d / 2 + 1) * (k + 1));
    missing = missing * square + (1 - square);
  }
  return std::copysign(of * (1 - sum), c);
}

}  // namespace scalecalc::moments
