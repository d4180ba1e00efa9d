#include "moments/interpolation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace scalecalc::moments {

ChebyshevPoints::ChebyshevPoints(double low, double high, int count) {
  for (int k = 0; k < count; ++k) {
    const double angle = std::numbers::pi * (k + 0.5) / count;
    at_.push_back((low + high) / 2 + (high - low) / 2 * std::cos(angle));
    weights_.push_back((k % 2 == 0 ? 1 : -1) * std::sin(angle));
  }
}

std::vector<double> ChebyshevPoints::weights(double x) const {
  std::vector<double> out(at_.size(), 0.0);
  double total = 0;
  for (std::size_t k = 0; k < at_.size(); ++k) {
    const double distance = x - at_[k];
    if (distance == 0) {
      std::fill(out.begin(), out.end(), 0.0);
      out[k] = 1;
      return out;
    }
    total += out[k] = weights_[k] / distance;
  }
  for (double& weight : out) weight /= total;
  return out;
}

}  // namespace scalecalc::moments
