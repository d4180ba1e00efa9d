#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/totals.cuh"

namespace scalecalc::tensor {
namespace {

template <class Real>
struct ProductTerm {
  const Real *a, *b;
  SCALECALC_DEVICE void operator()(std::int64_t i, double (&sums)[1]) const {
    sums[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
};

template <class Real>
struct ErrorTerm {
  const Real *y, *target;
  SCALECALC_DEVICE void operator()(std::int64_t i, double (&sums)[1]) const {
    const double error = static_cast<double>(y[i]) - static_cast<double>(target[i]);
    sums[0] += 0.5 * error * error;
  }
};

}  // namespace

template <class Real>
double CudaDevice<Real>::dot(std::int64_t count, const Real* a, const Real* b) {
  return *cuda::totals<1>(buffers_, "dot", count, ProductTerm<Real>{a, b});
}

template <class Real>
double CudaDevice<Real>::squared_error_forward(std::int64_t count, const Real* y,
                                               const Real* target) {
  return *cuda::totals<1>(buffers_, "squared_error_forward", count, ErrorTerm<Real>{y, target});
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
