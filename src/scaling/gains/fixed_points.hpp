#pragma once

#include <vector>

#include "scalecalc/gains.hpp"
#include "scaling/gains/expectation.hpp"

namespace scalecalc::gains_room {

/// solve_fixed_points, for several weight variances through one map. Both variances are in range.
std::vector<FixedPoint> fixed_points(const SecondMap& map, double weight_variance,
                                     double bias_variance);

}  // namespace scalecalc::gains_room
