#pragma once

#include "scalecalc/gaussian.hpp"

namespace scalecalc::gaussian::quadrature {

inline bool is_of_slope(Moment moment) {
  return moment == Moment::slope_mean || moment == Moment::slope_second ||
         moment == Moment::slope_cross;
}

/// How many factors of phi or phi' there are.
inline int power_of(Moment moment) {
  switch (moment) {
    case Moment::mean:
    case Moment::slope_mean: return 1;
    case Moment::fourth: return 4;
    default: return 2;
  }
}

/// A pair that is one variable twice.
inline Moment square_of(Moment pair_moment) {
  return pair_moment == Moment::cross ? Moment::second : Moment::slope_second;
}

}  // namespace scalecalc::gaussian::quadrature
