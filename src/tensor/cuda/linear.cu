#include "tensor/cuda/columns.cuh"
#include "tensor/cuda/cuda_device.hpp"
#include "tensor/functors.hpp"

namespace scalecalc::tensor {
namespace {

template <class Real>
struct AddBias {
  std::int64_t width;
  const Real* b;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    y[row * width + column] += b[column];
  }
};

/// y += bias and activated = phi(y), in one reading of y.
template <class Real, class Phi>
struct BiasActivation {
  std::int64_t width;
  const Real* bias;
  Real *y, *activated;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * width + column;
    Real value = y[at];
    if (bias != nullptr) y[at] = value = value + bias[column];
    activated[at] = Phi::value(value);
  }
};

template <class Real>
struct Entries {
  const Real* dy;
  SCALECALC_DEVICE void operator()(std::int64_t at, Real (&sums)[1]) const { sums[0] += dy[at]; }
};

template <class Real>
struct GainAndShift {
  const Real *x, *dy;
  SCALECALC_DEVICE void operator()(std::int64_t at, Real (&sums)[2]) const {
    sums[0] += dy[at] * x[at];
    sums[1] += dy[at];
  }
};

template <class Real>
struct Affine {
  std::int64_t width;
  const Real *x, *gain, *shift;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * width + column;
    y[at] = gain[column] * x[at] + shift[column];
  }
};

template <class Real>
struct AffineInput {
  std::int64_t width;
  const Real *gain, *dy;
  Into<Real> dx;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * width + column;
    cuda::put(dx, at, gain[column] * dy[at]);
  }
};

template <class Real>
cuda::Product<Real> forward_product(const LinearShape& s, const Real* x, const Real* w, Real* y) {
  return {s.tokens, s.fan_in,  s.fan_out, x, s.fan_in,  false,
          w,        s.fan_out, false,     y, s.fan_out, false};
}

}  // namespace

template <class Real>
void CudaDevice<Real>::linear_forward(const LinearShape& s, const Real* x, const Real* w,
                                      const Real* bias, Real* y) {
  blas_.multiply("linear_forward", forward_product(s, x, w, y));
  if (bias != nullptr) bias_forward(s.tokens, s.fan_out, bias, y);
}

template <class Real>
void CudaDevice<Real>::linear_activation_forward(const LinearShape& s, const Real* x, const Real* w,
                                                 const Real* bias, ActivationKind kind, Real* y,
                                                 Real* activated) {
  blas_.multiply("linear_activation_forward", forward_product(s, x, w, y));
  with_functor<Real>(kind, [&](auto phi) {
    cuda::for_rows(queue_, "linear_activation_forward", s.tokens, s.fan_out,
                   BiasActivation<Real, decltype(phi)>{s.fan_out, bias, y, activated});
  });
}

template <class Real>
void CudaDevice<Real>::linear_backward_input(const LinearShape& s, const Real* dy, const Real* w,
                                             Into<Real> dx) {
  if (!dx) return;
  blas_.multiply("linear_backward_input",
                 cuda::Product<Real>{s.tokens, s.fan_out, s.fan_in, dy, s.fan_out, false, w,
                                     s.fan_out, true, dx.data, s.fan_in, dx.adds});
}

template <class Real>
void CudaDevice<Real>::linear_backward_weight(const LinearShape& s, const Real* x, const Real* dy,
                                              Into<Real> dw) {
  if (!dw) return;
  blas_.multiply("linear_backward_weight",
                 cuda::Product<Real>{s.fan_in, s.tokens, s.fan_out, x, s.fan_in, true, dy,
                                     s.fan_out, false, dw.data, s.fan_out, dw.adds});
}

template <class Real>
void CudaDevice<Real>::bias_forward(std::int64_t tokens, std::int64_t width, const Real* b,
                                    Real* y) {
  cuda::for_rows(queue_, "bias_forward", tokens, width, AddBias<Real>{width, b, y});
}

template <class Real>
void CudaDevice<Real>::bias_backward(std::int64_t tokens, std::int64_t width, const Real* dy,
                                     Into<Real> db) {
  if (!db) return;
  cuda::sum_columns(buffers_, "bias_backward", tokens, width, Entries<Real>{dy},
                    cuda::Columns<Real, 1>{{db}});
}

template <class Real>
void CudaDevice<Real>::affine_forward(std::int64_t tokens, std::int64_t width, const Real* x,
                                      const Real* gain, const Real* shift, Real* y) {
  cuda::for_rows(queue_, "affine_forward", tokens, width, Affine<Real>{width, x, gain, shift, y});
}

template <class Real>
void CudaDevice<Real>::affine_backward(std::int64_t tokens, std::int64_t width, const Real* x,
                                       const Real* gain, const Real* dy, Into<Real> dx,
                                       Into<Real> dgain, Into<Real> dshift) {
  if (dgain || dshift) {
    cuda::sum_columns(buffers_, "affine_backward", tokens, width, GainAndShift<Real>{x, dy},
                      cuda::Columns<Real, 2>{{dgain, dshift}});
  }
  if (dx) {
    cuda::for_rows(queue_, "affine_backward", tokens, width,
                   AffineInput<Real>{width, gain, dy, dx});
  }
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
