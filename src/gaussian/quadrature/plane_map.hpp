#pragma once

#include "gaussian/quadrature/pair_frame.hpp"
#include "gaussian/quadrature/window.hpp"

namespace scalecalc::gaussian::quadrature {

/// Where f(u) f(v) counts in the plane, row by row of the narrow coordinate.
class PlaneMap {
 public:
  PlaneMap(const Profile& profile, bool slope, const PairFrame& frame);

  static constexpr double step = 1.0;
  /// The largest value, or the integral where that is smaller.
  double scale() const { return scale_; }
  bool is_resolved() const { return is_resolved_; }
  /// Along the line at y, from the rows next to it.
  Window along(double y) const;
  /// Of the narrow coordinate.
  Window across() const;

 private:
  std::vector<double> y_;
  std::vector<Window> rows_;
  double scale_ = 0;
  bool is_resolved_ = true;
};

}  // namespace scalecalc::gaussian::quadrature
