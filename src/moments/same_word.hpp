#pragma once

#include <cmath>
#include <cstdint>

namespace scalecalc::moments {

/// kappa = sum of f^2 over words of frequency f ~ k^-zipf: the chance that two are the same.
inline double same_word(std::int64_t vocab, double zipf) {
  if (zipf == 0) return 1 / static_cast<double>(vocab);
  double sum = 0, squares = 0;
  for (std::int64_t k = 1; k <= vocab; ++k) {
    const double f = std::pow(static_cast<double>(k), -zipf);
    sum += f;
    squares += f * f;
  }
  return squares / (sum * sum);
}

}  // namespace scalecalc::moments
