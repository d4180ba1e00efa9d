#pragma once

#include <vector>

#include "scalecalc/activation.hpp"

namespace scalecalc::moments {

/// Points z and weights, of sum 1, of averages over N(0, 1).
struct NormalGrid {
  std::vector<double> z, weight;
};

/// For phi(mean + deviation z) and phi': equal steps, each side of a break given its part of the
/// step that the break divides; where phi changes over less than two steps, or has a kink
/// and a deviation sees more of it, panels that become narrower towards the places where it does.
NormalGrid normal_grid(const Activation& activation, double mean, double deviation);

}  // namespace scalecalc::moments
