#include "moments/interpolation.hpp"

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

}  // namespace scalecalc::moments
