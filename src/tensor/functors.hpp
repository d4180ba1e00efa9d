#pragma once

#include <cmath>

#include "base/host_device.hpp"
#include "tensor/device.hpp"
#include "tensor/normal_tail.hpp"

/// The activations of the real passes on every device, each with its derivative. They are written
/// apart from the symbolic expressions on purpose: that the two agree is a test.
namespace scalecalc::tensor {

template <class Real>
struct Identity {
  SCALECALC_HOST_DEVICE static Real value(Real x) { return x; }
  SCALECALC_HOST_DEVICE static Real slope(Real) { return Real(1); }
};

template <class Real>
struct Relu {
  SCALECALC_HOST_DEVICE static Real value(Real x) { return x > Real(0) ? x : Real(0); }
  SCALECALC_HOST_DEVICE static Real slope(Real x) { return x > Real(0) ? Real(1) : Real(0); }
};

/// x Phi(x); the derivative is Phi(x) + x phi(x).
template <class Real>
struct Gelu {
  SCALECALC_HOST_DEVICE static Real value(Real x) { return x * Normal<Real>(x).cdf; }
  SCALECALC_HOST_DEVICE static Real slope(Real x) {
    const Normal<Real> at(x);
    return at.cdf + x * at.density;
  }
};

template <class Real>
struct Tanh {
  SCALECALC_HOST_DEVICE static Real value(Real x) { return std::tanh(x); }
  SCALECALC_HOST_DEVICE static Real slope(Real x) {
    const Real y = std::tanh(x);
    return (Real(1) - y) * (Real(1) + y);
  }
};

template <class Real>
struct Sigmoid {
  SCALECALC_HOST_DEVICE static Real value(Real x) { return Real(1) / (Real(1) + std::exp(-x)); }
  SCALECALC_HOST_DEVICE static Real slope(Real x) {
    const Real e = std::exp(-std::abs(x));
    return e / ((Real(1) + e) * (Real(1) + e));
  }
};

/// Klambauer et al. 2017, the constants that make N(0, 1) a fixed point.
template <class Real>
struct Selu {
  static constexpr Real scale = Real(1.0507009873554804934193349852946);
  static constexpr Real alpha = Real(1.6732632423543772848170429916717);
  SCALECALC_HOST_DEVICE static Real value(Real x) {
    return scale * (x > Real(0) ? x : alpha * std::expm1(x));
  }
  SCALECALC_HOST_DEVICE static Real slope(Real x) {
    return scale * (x > Real(0) ? Real(1) : alpha * std::exp(x));
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

}  // namespace scalecalc::tensor
