#pragma once

#include "base/vector_math.hpp"
#include "gaussian/lane_sum.hpp"
#include "gaussian/quadrature/adaptive.hpp"
#include "gaussian/quadrature/rule.hpp"

namespace scalecalc::gaussian::quadrature {

inline constexpr double density_factor = 0.3989422804014327;  // 1/sqrt(2 pi)

/// Both rules' sums over one panel, in whole vectors.
struct PanelSums {
  base::vector_math::Real kronrod{}, gauss{}, absolute{}, turned{};

  /// The integrand at nodes j, j + 1, ..., and |x| times its change to the next node by f alone.
  void add(const base::vector_math::Real& value, const base::vector_math::Real& change,
           std::size_t j) {
    const Rule& r = rule();
    const base::vector_math::Real weight = base::vector_math::load(r.kronrod + j);
    kronrod += weight * value;
    gauss += base::vector_math::load(r.gauss + j) * value;
    absolute += weight * base::vector_math::abs(value);
    turned += base::vector_math::load(r.step + j) > 0.0 ? change : base::vector_math::Real{};
  }

  /// `slope` is dx/dz.
  Integral integral(const Panel& panel, double slope) const {
    const double factor = density_factor * panel.half;
    const double value = lane_sum(kronrod), size = factor * lane_sum(absolute);
    return {
        factor * value, kronrod_error(factor * (value - lane_sum(gauss)), size), size,
        size * panel.centre * panel.centre + density_factor * lane_sum(turned) / std::fabs(slope)};
  }
};

}  // namespace scalecalc::gaussian::quadrature
