#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/device_code.hpp"
#include "tensor/cuda/grid.cuh"
#include "tensor/functors.hpp"

namespace scalecalc::tensor {
namespace {

/// body(i) = phi(x[i]) and the like, by functors that name their types: one kernel for each
/// activation.
template <class Real, class Phi>
struct Apply {
  const Real* x;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t i) const { y[i] = Phi::value(x[i]); }
};

template <class Real, class Phi>
struct ApplySlope {
  const Real *x, *dy;
  Into<Real> dx;
  SCALECALC_DEVICE void operator()(std::int64_t i) const {
    cuda::put(dx, i, Phi::slope(x[i]) * dy[i]);
  }
};

template <class Real>
struct Product {
  const Real *a, *b;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t i) const { y[i] = a[i] * b[i]; }
};

template <class Real>
struct ProductInto {
  const Real *a, *b;
  Into<Real> y;
  SCALECALC_DEVICE void operator()(std::int64_t i) const { cuda::put(y, i, a[i] * b[i]); }
};

template <class Real>
struct Blend {
  Real a, b;
  const Real *x, *f;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t i) const { y[i] = a * x[i] + b * f[i]; }
};

template <class Real>
struct Scaled {
  Real a;
  const Real* dy;
  Into<Real> dx;
  SCALECALC_DEVICE void operator()(std::int64_t i) const { cuda::put(dx, i, a * dy[i]); }
};

template <class Real>
struct Constant {
  Real value;
  Real* out;
  SCALECALC_DEVICE void operator()(std::int64_t i) const { out[i] = value; }
};

/// As the CPU does it: in double, whatever Real is.
template <class Real>
struct AddScaled {
  double scale;
  const Real* x;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t i) const {
    y[i] = static_cast<Real>(static_cast<double>(y[i]) + scale * static_cast<double>(x[i]));
  }
};

template <class Real>
struct Error {
  Real factor;
  const Real *y, *target;
  Into<Real> dy;
  SCALECALC_DEVICE void operator()(std::int64_t i) const {
    cuda::put(dy, i, factor * (y[i] - target[i]));
  }
};

}  // namespace

template <class Real>
void CudaDevice<Real>::activation_forward(ActivationKind kind, std::int64_t count, const Real* x,
                                          Real* y) {
  with_functor<Real>(kind, [&](auto phi) {
    cuda::for_entries(queue_, "activation_forward", count, Apply<Real, decltype(phi)>{x, y});
  });
}

template <class Real>
void CudaDevice<Real>::activation_backward(ActivationKind kind, std::int64_t count, const Real* x,
                                           const Real* dy, Into<Real> dx) {
  if (!dx) return;
  with_functor<Real>(kind, [&](auto phi) {
    cuda::for_entries(queue_, "activation_backward", count,
                      ApplySlope<Real, decltype(phi)>{x, dy, dx});
  });
}

template <class Real>
void CudaDevice<Real>::function_forward(const Activation& phi, std::int64_t count, const Real* x,
                                        Real* y) {
  functions_.forward(phi, count, x, y);
}

template <class Real>
void CudaDevice<Real>::function_backward(const Activation& phi, std::int64_t count, const Real* x,
                                         const Real* dy, Into<Real> dx) {
  if (dx) functions_.backward(phi, count, x, dy, dx);
}

template <class Real>
void CudaDevice<Real>::multiply_forward(std::int64_t count, const Real* a, const Real* b, Real* y) {
  cuda::for_entries(queue_, "multiply_forward", count, Product<Real>{a, b, y});
}

template <class Real>
void CudaDevice<Real>::multiply_backward(std::int64_t count, const Real* a, const Real* b,
                                         const Real* dy, Into<Real> da, Into<Real> db) {
  if (da) cuda::for_entries(queue_, "multiply_backward", count, ProductInto<Real>{b, dy, da});
  if (db) cuda::for_entries(queue_, "multiply_backward", count, ProductInto<Real>{a, dy, db});
}

template <class Real>
void CudaDevice<Real>::blend_forward(std::int64_t count, double a, const Real* x, double b,
                                     const Real* f, Real* y) {
  cuda::for_entries(queue_, "blend_forward", count,
                    Blend<Real>{static_cast<Real>(a), static_cast<Real>(b), x, f, y});
}

template <class Real>
void CudaDevice<Real>::scaled_backward(std::int64_t count, double a, const Real* dy,
                                       Into<Real> dx) {
  if (!dx) return;
  cuda::for_entries(queue_, "scaled_backward", count, Scaled<Real>{static_cast<Real>(a), dy, dx});
}

template <class Real>
void CudaDevice<Real>::fill(std::int64_t count, Real value, Real* out) {
  cuda::for_entries(queue_, "fill", count, Constant<Real>{value, out});
}

template <class Real>
void CudaDevice<Real>::add_from_host(std::int64_t count, double scale, const Real* x, Real* y) {
  if (count == 0) return;
  const cuda::Scratch<Real> there(buffers_, count);
  upload(x, there.data(), static_cast<std::size_t>(count) * sizeof(Real));
  cuda::for_entries(queue_, "add_from_host", count, AddScaled<Real>{scale, there.data(), y});
}

template <class Real>
void CudaDevice<Real>::squared_error_backward(std::int64_t count, const Real* y, const Real* target,
                                              double scale, Into<Real> dy) {
  if (!dy) return;
  cuda::for_entries(queue_, "squared_error_backward", count,
                    Error<Real>{static_cast<Real>(scale), y, target, dy});
}

cudaError_t cuda::status_of_code() {
  cudaFuncAttributes ignored;
  auto* kernel = &entries_kernel<Constant<float>>;
  return cudaFuncGetAttributes(&ignored, reinterpret_cast<const void*>(kernel));
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
