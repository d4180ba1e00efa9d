#pragma once

#include "base/vector_math/lanes.hpp"

namespace scalecalc {
inline namespace SCALECALC_LANES_NAMESPACE {

/// The sum of a vector's lanes, by halves.
inline double lane_sum(base::vector_math::Real x) {
  base::vector_math::Int lane;
  for (std::size_t k = 0; k < base::vector_math::lanes; ++k) lane[k] = static_cast<std::int64_t>(k);
  for (std::int64_t half = base::vector_math::lanes / 2; half > 0; half /= 2) {
    x += __builtin_shuffle(x, lane ^ half);
  }
  return x[0];
}

}  // namespace SCALECALC_LANES_NAMESPACE
}  // namespace scalecalc
