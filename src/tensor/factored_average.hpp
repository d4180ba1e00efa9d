#pragma once

#include <cmath>

#include "base/host_device.hpp"

/// The second moment of a matrix kept as two averages (Shazeer and Stern 2018, "Adafactor"): V_ij =
/// by_row_i by_column_j / total, with total the sum of by_row. What is kept is rounded to Real;
/// sums are in double.
namespace scalecalc::tensor {

/// beta kept + (1 - beta) (sum of squares + count eps), the sum being over `count` entries.
template <class Real>
SCALECALC_HOST_DEVICE Real averaged_squares(double beta, Real kept, double squares, double count,
                                            double eps) {
  return static_cast<Real>(beta * static_cast<double>(kept) +
                           (1.0 - beta) * (squares + count * eps));
}

/// sqrt(total / by_row), and an entry divided by sqrt(V) with it. The product of the averages,
/// which may leave the range of Real, is never formed.
template <class Real>
SCALECALC_HOST_DEVICE Real row_share(double total, Real by_row) {
  return static_cast<Real>(std::sqrt(total / static_cast<double>(by_row)));
}
template <class Real>
SCALECALC_HOST_DEVICE Real divided_by_root(Real entry, Real by_column, Real share) {
  return entry / std::sqrt(by_column) * share;
}

}  // namespace scalecalc::tensor
