#pragma once

#include <cmath>
#include <cstdint>

#include "moments/positions.hpp"

namespace scalecalc::testing {

/// A smooth state over the positions: second 1 + t/T, cross e^{-|t - u|/T}/2.
inline moments::PerPosition smooth(std::int64_t tokens, bool all = true) {
  moments::PerPosition x =
      moments::spread_over({0, 1, 0.5, 0.25}, moments::make_positions(tokens, all), 2);
  const double length = static_cast<double>(tokens);
  for (Eigen::Index t = 0; t < x.second.size(); ++t) {
    const double at = x.positions->at[t] / length;
    x.second[t] = 1 + at;
    for (Eigen::Index u = 0; u < x.second.size(); ++u)
      x.cross(t, u) = 0.5 * std::exp(-std::abs(at - x.positions->at[u] / length));
  }
  return x;
}

}  // namespace scalecalc::testing
