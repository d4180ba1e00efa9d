#pragma once

#include <cstddef>

namespace scalecalc::base {

/// Through values at -1, 0 and 1.
inline double parabola(double left, double middle, double right, double x) {
  return middle + x / 2 * (right - left) + x * x / 2 * (right - 2 * middle + left);
}

/// Entry by entry: of std::array and std::vector of one size.
template <class Values>
Values parabola(const Values& left, const Values& middle, const Values& right, double x) {
  Values made = middle;
  for (std::size_t k = 0; k < made.size(); ++k) made[k] = parabola(left[k], middle[k], right[k], x);
  return made;
}

}  // namespace scalecalc::base
