#include "tensor/shaping.hpp"

#include <cmath>
#include <numbers>

namespace scalecalc::tensor {
namespace {

/// Normal cut at +-2 standard deviations: Var = 1 - 4 phi(2)/(2 Phi(2) - 1) before rescaling.
struct Truncation {
  double lower = 0.5 * std::erfc(std::numbers::sqrt2);
  double mass = 1.0 - std::erfc(std::numbers::sqrt2);
  double correction =
      1.0 / std::sqrt(1.0 - 4.0 * std::exp(-2.0) / std::sqrt(2.0 * std::numbers::pi) / mass);
};

}  // namespace

Shaping shaping_of(const Draw& draw) {
  static const Truncation truncation;
  switch (draw.kind) {
    case Draw::Kind::uniform: return {false, -1.0, 2.0, std::numbers::sqrt3 * draw.std};
    case Draw::Kind::truncated_normal:
      return {true, truncation.lower, truncation.mass, truncation.correction * draw.std};
    case Draw::Kind::normal: break;
  }
  return {true, 0.0, 1.0, draw.std};
}

}  // namespace scalecalc::tensor
