#pragma once

#include <cstddef>
#include <cstdint>

namespace scalecalc::audit_room {

/// Sums of powers of the distance from the mean; those of two samples make that of both.
struct CentralMoments {
  std::int64_t count = 0;
  double mean = 0, m2 = 0, m3 = 0, m4 = 0;  ///< m2 = sum (x - mean)^2, ...
  double min = 0, max = 0;                  ///< of no values: 0

  void add(const CentralMoments& other);
};

/// Of up to some thousand values, in two passes, in double. If one of them is not finite, neither
/// is the mean. Sums are made in a fixed order.
template <class Real>
CentralMoments central_moments(const Real* values, std::size_t count);

}  // namespace scalecalc::audit_room
