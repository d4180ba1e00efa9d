#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "scalecalc/gaussian.hpp"

namespace scalecalc::moments {

/// Hermite series of several pair expectations, sum a_n c^n each, evaluated together: side by side,
/// so that a step of Horner's rule is one of vectors.
class SeriesTable {
 public:
  static constexpr std::size_t width = 16;  ///< most functions
  using Values = std::array<double, width>;

  SeriesTable() = default;
  explicit SeriesTable(const std::vector<PairFunction>& functions);

  /// Largest |c| at which each function is its series.
  double limit() const { return limit_; }
  /// Each function at c, |c| <= limit(), to rounding; 0 past the last.
  Values operator()(double c) const;

 private:
  std::vector<Values> coefficients_;  ///< [n][function]
  double limit_ = 0;
};

}  // namespace scalecalc::moments
