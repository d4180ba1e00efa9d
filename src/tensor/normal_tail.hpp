#pragma once

#include <cmath>
#include <numbers>

#include "base/host_device.hpp"
#include "tensor/vector_libm.hpp"

namespace scalecalc::tensor {

/// The normal distribution at x: Phi(x), accurate in its lower tail, and the density.
template <class Real>
struct Normal {
  SCALECALC_HOST_DEVICE explicit Normal(Real x)
      : cdf(Real(0.5) * std::erfc(-x * (std::numbers::sqrt2_v<Real> / Real(2)))),
        density(kHeight * std::exp(Real(-0.5) * x * x)) {}

  static constexpr Real kHeight = std::numbers::inv_sqrtpi_v<Real> / std::numbers::sqrt2_v<Real>;
  Real cdf, density;
};

/// In single precision one exp does for both: the upper tail at a = |x| is e^(-a^2/2) t P(t), with
/// t = 1/(1 + 3 a/10). P is made by tables/reference/normal_tail.py, to 4e-9.
template <>
struct Normal<float> {
  SCALECALC_HOST_DEVICE explicit Normal(float x) {
    constexpr float kP[] = {-0.02091435973F, 0.1140402721F,  -0.2320384829F, 0.196940677F,
                            -0.08374254902F, 0.09848074018F, 0.07758906438F, 0.1104051798F,
                            0.1195517632F,   0.1196876931F};
    const float t = 1.0F / (1.0F + 0.3F * std::fabs(x)), power = std::exp(-0.5F * x * x);
    float p = kP[0];
    for (int i = 1; i < 10; ++i) p = p * t + kP[i];
    const float tail = power * (t * p);
    cdf = x < 0.0F ? tail : 1.0F - tail;
    density = static_cast<float>(Normal<double>::kHeight) * power;
  }
  float cdf, density;
};

}  // namespace scalecalc::tensor
