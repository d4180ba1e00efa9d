#pragma once

#include <array>
#include <limits>
#include <vector>

#include "scalecalc/activation.hpp"

/// What a quadrature must know of an activation before it begins.
namespace scalecalc::gaussian::quadrature {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// A place where the activation changes its shape.
struct Feature {
  double at = 0;
  double width = infinite;  ///< over which it changes; infinite at a break between polynomials
  bool is_break = false;
};

/// How fast |phi| and |phi'| grow far out on one side.
enum class Growth {
  polynomial,
  below_gaussian,  ///< log|phi| = o(x^2): every moment exists
  gaussian,        ///< it depends on the variance
  above_gaussian,  ///< no moment exists
};

struct Profile {
  Activation activation;
  std::vector<Feature> features;   ///< rising; 0 is one of them unless phi is a polynomial
  std::array<Growth, 2> growth{};  ///< towards -inf, +inf
  double value_pole = 0;           ///< the largest p in |phi| ~ |x - b|^-p at a break b
  double slope_pole = 0;
};

/// Made once for each activation and thread, and kept for a while.
const Profile& profile_of(const Activation& activation);

}  // namespace scalecalc::gaussian::quadrature
