#pragma once

#include <cstddef>
#include <vector>

namespace scalecalc::moments {

/// Barycentric interpolation at Chebyshev points of the first kind within [low, high].
class ChebyshevPoints {
 public:
  ChebyshevPoints() = default;
  ChebyshevPoints(double low, double high, int count);
  const std::vector<double>& at() const { return at_; }
  /// Of each point's value in that at x.
  std::vector<double> weights(double x) const;

  /// values(k): at the k-th point.
  template <class Values>
  double operator()(double x, const Values& values) const {
    double above = 0, below = 0;
    for (std::size_t k = 0; k < at_.size(); ++k) {
      const double distance = x - at_[k];
      if (distance == 0) return values(k);
      above += weights_[k] / distance * values(k);
      below += weights_[k] / distance;
    }
    return above / below;
  }

 private:
  std::vector<double> at_, weights_;
};

}  // namespace scalecalc::moments
