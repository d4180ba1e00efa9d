#pragma once

#include "tensor/draw.hpp"
#include "tensor/inverse_normal.hpp"

/// One drawn value from one uniform value, by the same operations on the host and on a CUDA device.
namespace scalecalc::tensor {

/// factor g(offset + slope u), g the identity or the inverse of the normal distribution function.
struct Shaping {
  bool normal = true;
  double offset = 0.0, slope = 1.0, factor = 1.0;
};

/// Of a draw, its std included.
Shaping shaping_of(const Draw& draw);

SCALECALC_HOST_DEVICE static inline double shaped(const Shaping& s, double uniform) {
  const double u = s.offset + s.slope * uniform;
  return s.factor * (s.normal ? inverse_normal_ieee(u) : u);
}

}  // namespace scalecalc::tensor
