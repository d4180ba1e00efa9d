#pragma once

#include <cmath>

#include "tensor/cuda/launch.cuh"
#include "tensor/device.hpp"

/// The activations of the real passes on a CUDA device, each with its derivative.
namespace scalecalc::tensor::cuda {

template <class Real>
struct Identity {
  static SCALECALC_DEVICE Real value(Real x) { return x; }
  static SCALECALC_DEVICE Real slope(Real) { return Real(1); }
};

template <class Real>
struct Relu {
  static SCALECALC_DEVICE Real value(Real x) { return x > Real(0) ? x : Real(0); }
  static SCALECALC_DEVICE Real slope(Real x) { return x > Real(0) ? Real(1) : Real(0); }
};

/// x Phi(x); the derivative is Phi(x) + x phi(x).
template <class Real>
struct Gelu {
  static SCALECALC_DEVICE Real cdf(Real x) {
    return Real(0.5) * std::erfc(-x * Real(0.70710678118654752440));
  }
  static SCALECALC_DEVICE Real value(Real x) { return x * cdf(x); }
  static SCALECALC_DEVICE Real slope(Real x) {
    return cdf(x) + x * Real(0.39894228040143267794) * std::exp(Real(-0.5) * x * x);
  }
};

template <class Real>
struct Tanh {
  static SCALECALC_DEVICE Real value(Real x) { return std::tanh(x); }
  static SCALECALC_DEVICE Real slope(Real x) {
    const Real y = std::tanh(x);
    return (Real(1) - y) * (Real(1) + y);
  }
};

template <class Real>
struct Sigmoid {
  static SCALECALC_DEVICE Real value(Real x) { return Real(1) / (Real(1) + std::exp(-x)); }
  static SCALECALC_DEVICE Real slope(Real x) {
    const Real e = std::exp(-std::abs(x));
    return e / ((Real(1) + e) * (Real(1) + e));
  }
};

/// Klambauer et al. 2017, the constants that make N(0, 1) a fixed point.
template <class Real>
struct Selu {
  static constexpr Real kScale = Real(1.0507009873554804934193349852946);
  static constexpr Real kAlpha = Real(1.6732632423543772848170429916717);
  static SCALECALC_DEVICE Real value(Real x) {
    return kScale * (x > Real(0) ? x : kAlpha * std::expm1(x));
  }
  static SCALECALC_DEVICE Real slope(Real x) {
    return kScale * (x > Real(0) ? Real(1) : kAlpha * std::exp(x));
  }
};

/// Calls body(Functor{}) with the functor of `kind`.
template <class Real, class Body>
void with_functor(ActivationKind kind, const Body& body) {
  switch (kind) {
    case ActivationKind::identity: return body(Identity<Real>{});
    case ActivationKind::relu: return body(Relu<Real>{});
    case ActivationKind::gelu: return body(Gelu<Real>{});
    case ActivationKind::tanh: return body(Tanh<Real>{});
    case ActivationKind::sigmoid: return body(Sigmoid<Real>{});
    case ActivationKind::selu: return body(Selu<Real>{});
  }
}

}  // namespace scalecalc::tensor::cuda
